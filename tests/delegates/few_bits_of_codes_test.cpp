// Products of codes, for which blocks of rows chose a scale each, with constants of four and eight bits in
// the same blocks: against sums of f64. Two nodes without a Model around them, on whatever kernels this CPU
// has.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <vector>

#include "core/row_codes.h"
#include "core/wide_constant.h"
#include "delegates/xnnpack/delegate.h"
#include "ops/op.h"
#include "ops/op_codes.h"
#include "skiff/delegate.h"
#include "skiff/quantization.h"

namespace skiff::testing {
namespace {

constexpr int64_t kInputs = 384;
constexpr int64_t kOutputs = 37;

struct Weights {
  DType dtype;
  int64_t block;
  bool has_zero_points;  ///< That differ.
};

int32_t CodeAt(const uint8_t* bytes, DType dtype, int64_t i) {
  const int bits = DTypeBits(dtype);
  const int32_t code = bits == 8 ? bytes[i] : bytes[i / 2] >> (i % 2 * 4) & 15;
  const bool is_signed = dtype == DType::kI4 || dtype == DType::kI8;
  return is_signed && code >= 1 << (bits - 1) ? code - (1 << bits) : code;
}

/// The rows of x, their codes or what these stand for, and their products.
class TwoNodes {
 public:
  explicit TwoNodes(const Weights& of) : of_(of), random_(7), bytes_(kOutputs * kInputs + 16) {
    for (uint8_t& byte : bytes_) byte = static_cast<uint8_t>(random_());
    const bool is_signed = of.dtype == DType::kI4 || of.dtype == DType::kI8;
    const int32_t middle = is_signed ? 0 : 1 << (DTypeBits(of.dtype) - 1);
    std::uniform_real_distribution<float> scale(0.001f, 0.01f);
    for (int64_t i = 0; i < kOutputs * kInputs / of.block; ++i) {
      scales_.push_back(scale(random_));
      zero_points_.push_back(middle + (of.has_zero_points ? static_cast<int32_t>(i % 7) - 3 : 0));
    }
    quantization_.axis = 1;
    quantization_.block = of.block;
    quantization_.count = static_cast<int64_t>(scales_.size());
    quantization_.scales = scales_.data();
    quantization_.zero_points = zero_points_.data();
  }

  /// Of random x.
  void Run(int64_t rows) {
    const Shape shapes[kTensors] = {{rows, kInputs}, {rows, kInputs}, {kOutputs, kInputs}, {rows, kOutputs}};
    PlanTensor tensors[kTensors];
    std::uniform_real_distribution<float> numbers(-3, 5);
    for (const size_t i : {kReals, kCodes, kProducts}) {
      memory_[i].assign(static_cast<size_t>(shapes[i].elements()) + 16, 0);
      tensors[i].view = TensorView(memory_[i].data(), DType::kF32, shapes[i]);
    }
    for (float& x : memory_[kReals]) x = numbers(random_);
    const TensorView stored(bytes_.data(), of_.dtype, shapes[kWeights], &quantization_);
    std::atomic<uint64_t> held{0};
    WideConstant wide;
    ASSERT_TRUE(wide.Reserve(stored, &held).ok());
    wide.Pin();
    tensors[kWeights].view = TensorView(wide.elements(), DType::kF32, stored.shape);
    tensors[kWeights].wide = &wide;
    tensors[kWeights].constant = true;
    tensors[kWeights].hash = {1, 2};

    AttrStorage attrs[2];
    InitAttrs(OpCode::kFakeQuantize, attrs[0]);
    attrs[0].as<FakeQuantizeAttrs>() = {.axis = -1, .symmetric = true, .block = of_.block};
    InitAttrs(OpCode::kFullyConnected, attrs[1]);
    const int32_t inputs[] = {kReals, kCodes, kWeights};
    const int32_t outputs[] = {kCodes, kProducts};
    const PlanNode nodes[2] = {
        {FindOp(OpCode::kFakeQuantize), &attrs[0], "codes", {inputs, 1}, {outputs, 1}, {}},
        {FindOp(OpCode::kFullyConnected), &attrs[1], "product", {inputs + 1, 2}, {outputs + 1, 1}, {}}};
    const std::unique_ptr<ModelState> state =
        std::move(BuiltinXnnpackDelegate().CreateModelState({}).value());
    const std::unique_ptr<DelegateSession> session = std::move(state->CreateSession({}).value());
    const auto segment = std::move(session->Prepare({{tensors, kTensors}, {nodes, 2}, 0, 2, {}}).value());
    ASSERT_TRUE(segment->Reshape().ok());
    ASSERT_TRUE(segment->Bind().ok());
    ASSERT_TRUE(segment->Run({}).ok());
    EXPECT_FALSE(segment->FellBack(0));
    EXPECT_FALSE(segment->FellBack(1));
  }

  float result(int64_t row, int64_t output) const {
    return memory_[kProducts][static_cast<size_t>(row * kOutputs + output)];
  }
  /// Of the products, and of their magnitudes.
  void Sum(int64_t row, int64_t output, double* sum, double* magnitudes) const {
    *sum = *magnitudes = 0;
    for (int64_t begin = 0; begin < kInputs; begin += of_.block) {
      const float* const x = memory_[kReals].data() + row * kInputs + begin;
      float largest = 0;
      for (int64_t k = 0; k < of_.block; ++k) largest = std::max(largest, std::abs(x[k]));
      const RowCodes<float> codes = RowCodesFor(-largest, largest, /*symmetric=*/true);
      const auto block = static_cast<size_t>((output * kInputs + begin) / of_.block);
      for (int64_t k = 0; k < of_.block; ++k) {
        const int32_t weight =
            CodeAt(bytes_.data(), of_.dtype, output * kInputs + begin + k) - zero_points_[block];
        const double product =
            static_cast<double>(std::nearbyint(x[k] / codes.scale)) * codes.scale * weight * scales_[block];
        *sum += product;
        *magnitudes += std::abs(product);
      }
    }
  }

 private:
  enum { kReals, kCodes, kWeights, kProducts, kTensors };

  const Weights of_;
  std::mt19937 random_;
  std::vector<uint8_t> bytes_;
  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  Quantization quantization_;
  std::vector<float> memory_[kTensors];
};

constexpr Weights kWeights[] = {
    {DType::kI4, 16, false}, {DType::kI4, 32, true},  {DType::kU4, 32, false},  {DType::kU4, 48, false},
    {DType::kU4, 96, true},  {DType::kI4, 128, true}, {DType::kU4, 384, false}, {DType::kI8, 16, false},
    {DType::kI8, 128, true}, {DType::kU8, 32, false}, {DType::kU8, 384, true},  {DType::kI4, 24, false},
};

TEST(FewBitsOfCodes, SumOfEachBlockByItsScales) {
  for (const Weights& of : kWeights) {
    TwoNodes net(of);
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 100}) {
      SCOPED_TRACE(::testing::Message()
                   << DTypeName(of.dtype) << " in blocks of " << of.block << ", " << rows << " rows");
      net.Run(rows);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t output = 0; output < kOutputs; ++output) {
          double sum = 0;
          double magnitudes = 0;
          net.Sum(row, output, &sum, &magnitudes);
          // Of up to 24 blocks: a sum of f32 for each, and the product of its scales.
          ASSERT_NEAR(net.result(row, output), sum, 1e-6 * magnitudes) << row << ", " << output;
        }
      }
    }
  }
}

}  // namespace
}  // namespace skiff::testing
