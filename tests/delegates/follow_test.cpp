// Elementwise nodes that compute rows of a product as soon as these are there: the same numbers as one after
// the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "core/wide_constant.h"
#include "delegates/xnnpack/delegate.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "node_harness.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

constexpr int64_t kExtent = 18;
constexpr int64_t kChannels = 24;
/// Elements between the places of two tensors.
constexpr size_t kApart = 2 * kExtent * kExtent * 40;

struct Product {
  const char* name;
  int64_t kernel;
  int64_t stride;
  int64_t groups;
  int64_t dilation = 1;
};
constexpr Product kProducts[] = {
    {"1x1", 1, 1, 1},
    {"Winograd", 3, 1, 1},
    {"Winograd, dilated", 3, 1, 1, 2},
    {"3x3, stride 2", 3, 2, 1},
    {"groups", 3, 1, 3},
    {"depthwise", 3, 1, kChannels},
    {"depthwise, stride 2", 3, 2, kChannels},
};

enum Tensor { kX, kWeights, kBias, kProduct, kSilu, kResidual, kSum, kTensors };

/// Where the tensors lie, and how far their rows are from each other.
struct Layout {
  const char* name;
  size_t places[kTensors];
  int64_t gap;
  bool silu_follows;
  bool sum_follows;
};
constexpr Layout kLayouts[] = {
    {"apart", {0, 1, 2, 3, 4, 5, 6}, 0, true, true},
    {"in place", {0, 1, 2, 3, 3, 5, 3}, 0, true, true},
    {"over the residual", {0, 1, 2, 3, 3, 5, 5}, 0, true, true},
    {"sum over the product's input", {0, 1, 2, 3, 3, 5, 0}, 0, true, false},
    {"all over the product's input", {0, 1, 2, 3, 0, 5, 0}, 0, false, false},
    {"rows apart", {0, 1, 2, 3, 3, 5, 3}, 16, true, true},
};

class Net {
 public:
  Net(const Product& product, const Layout& layout) : memory_(kTensors * kApart + 64) {
    const int64_t extent = (kExtent + product.stride - 1) / product.stride;
    const Shape picture{2, kExtent, kExtent, kChannels};
    const Shape result{2, extent, extent, kChannels};
    const Shape shapes[kTensors] = {
        picture,     {kChannels, product.kernel, product.kernel, kChannels / product.groups},
        {kChannels}, result,
        result,      result,
        result};
    std::mt19937 random(1);
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (size_t i = 0; i < kTensors; ++i) {
      tensors_[i].view = TensorView(memory_.data() + layout.places[i] * kApart, DType::kF32, shapes[i]);
      tensors_[i].constant = i == kWeights || i == kBias;
      tensors_[i].hash = {i, static_cast<uint64_t>(product.kernel * 1000 + product.groups)};
      if (i >= kProduct && i != kResidual) tensors_[i].view.row_stride += layout.gap;
      if (i == kX || i == kWeights || i == kBias || i == kResidual) {
        float* const values = tensors_[i].view.as<float>();
        for (size_t k = 0; k < kApart; ++k) values[k] = 2 * numbers(random);
      }
    }
    constexpr OpCode kOps[] = {OpCode::kConv2d, OpCode::kSilu, OpCode::kAdd};
    for (size_t i = 0; i < 3; ++i) InitAttrs(kOps[i], attrs_[i]);
    auto& convolution = attrs_[0].as<Conv2dAttrs>();
    convolution.groups = product.groups;
    convolution.strides = {product.stride, product.stride};
    convolution.dilations = {product.dilation, product.dilation};
    convolution.auto_pad = AutoPad::kSameUpper;
    attrs_[2].as<ClampAttrs>().min = 0;
    for (size_t i = 0; i < 3; ++i) {
      nodes_[i] = {FindOp(kOps[i]), &attrs_[i], "node", {inputs_[i], kCounts[i]}, {&outputs_[i], 1}, {}};
    }
  }

  SegmentView view(uint32_t begin, uint32_t end) const {
    return {{tensors_, kTensors}, {nodes_, 3}, begin, end};
  }
  void Fill(Tensor tensor, float number) { std::fill_n(tensors_[tensor].view.as<float>(), kApart, number); }
  float product() const { return tensors_[kProduct].view.as<const float>()[0]; }
  std::vector<float> result() const {
    const TensorView& view = tensors_[kSum].view;
    std::vector<float> elements;
    for (int64_t row = 0; row * kChannels < view.shape.elements(); ++row) {
      const float* const from = view.as<const float>() + row * view.row_stride;
      elements.insert(elements.end(), from, from + kChannels);
    }
    return elements;
  }

 private:
  static constexpr size_t kCounts[] = {3, 1, 2};
  static constexpr int32_t inputs_[3][3] = {{kX, kWeights, kBias}, {kProduct}, {kSilu, kResidual}};
  static constexpr int32_t outputs_[3] = {kProduct, kSilu, kSum};
  std::vector<float> memory_;
  PlanTensor tensors_[kTensors];
  AttrStorage attrs_[3];
  PlanNode nodes_[3];
};

/// A node that follows takes no time of its own.
struct Follows final : NodeTimer {
  bool node[3] = {};
  void Record(uint32_t index, uint64_t begin, uint64_t end) override { node[index] = begin == end; }
};

Follows RunNodes(DelegateSession& session, const SegmentView& view) {
  Result<std::unique_ptr<PreparedSegment>> prepared = session.Prepare(view);
  EXPECT_TRUE(prepared.ok());
  EXPECT_TRUE((*prepared)->Reshape().ok());
  EXPECT_TRUE((*prepared)->Bind().ok());
  Follows follows;
  EXPECT_TRUE((*prepared)->Run({&follows}).ok());
  return follows;
}

std::unique_ptr<DelegateSession> NewSession(ModelState& state, int threads) {
  DelegateSessionOptions options;
  options.threads = threads;
  options.thread_small_work = true;
  return std::move(state.CreateSession(options).value());
}

TEST(Follow, ComputesWhatOneAfterTheOtherDoes) {
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  ASSERT_TRUE(state.ok());
  const bool own = xnnpack::kHasOwnKernels && xnnpack::SelectKernels().dense != nullptr;
  for (const int threads : {1, 2}) {
    const std::unique_ptr<DelegateSession> session = NewSession(**state, threads);
    for (const Product& product : kProducts) {
      const Net one_by_one(product, kLayouts[0]);
      for (uint32_t i = 0; i < 3; ++i) RunNodes(*session, one_by_one.view(i, i + 1));
      for (const Layout& layout : kLayouts) {
        SCOPED_TRACE(::testing::Message() << product.name << ", " << layout.name << ", threads: " << threads);
        const Net net(product, layout);
        const Follows follows = RunNodes(*session, net.view(0, 3));
        EXPECT_EQ(net.result(), one_by_one.result());
        if (threads > 1) continue;  // Whether they do depends on how the work is divided.
        const bool leads = own && product.dilation == 1;  // Else tiles leave gaps in a line.
        EXPECT_EQ(follows.node[1], leads && layout.silu_follows);
        EXPECT_EQ(follows.node[2], leads && layout.sum_follows);
      }
    }
  }
}

/// Products are whole where a step follows that takes subnormal numbers for zero: here each term of a sum is
/// subnormal, and no sum is.
TEST(Follow, TermsOfProductsMayBeSubnormal) {
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  ASSERT_TRUE(state.ok());
  if (!xnnpack::kHasOwnKernels || xnnpack::SelectKernels().dense == nullptr)
    GTEST_SKIP() << "nothing follows a product here";
  const std::unique_ptr<DelegateSession> session = NewSession(**state, 1);
  for (const Product& product : kProducts) {
    SCOPED_TRACE(product.name);
    if (product.groups == kChannels) continue;  // Of nine terms.
    Net net(product, kLayouts[0]);
    net.Fill(kX, 0x1p-66f);
    net.Fill(kWeights, 0x1p-64f);
    net.Fill(kBias, 0);
    net.Fill(kResidual, 0);
    RunNodes(*session, net.view(0, 3));
    EXPECT_GT(net.product(), 0);
  }
}

/// A product of codes, and a sum that follows it.
TEST(Follow, SumsOfCodes) {
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  ASSERT_TRUE(state.ok());
  const bool own = xnnpack::kHasOwnKernels && xnnpack::SelectKernels().codes.dense != nullptr;
  enum { kCodes, kFactors, kProducts, kOthers, kSums, kCount };
  const Shape shapes[kCount] = {
      {1, 23, 19, 64}, {48, 1, 1, 64}, {1, 23, 19, 48}, {1, 23, 19, 48}, {1, 23, 19, 48}};
  const Quantization quants[kCount] = {{0.02f, 3}, {0.01f, 0}, {0.03f, -7}, {0.05f, 11}, {0.06f, 2}};
  std::vector<int8_t> memory[kCount];
  PlanTensor tensors[kCount];
  std::mt19937 random(3);
  std::uniform_int_distribution<int> codes(-128, 127);
  for (size_t i = 0; i < kCount; ++i) {
    memory[i].resize(static_cast<size_t>(shapes[i].elements()) + 16);
    for (int8_t& code : memory[i]) code = static_cast<int8_t>(codes(random));
    tensors[i].view = TensorView(memory[i].data(), DType::kI8, shapes[i], &quants[i]);
    tensors[i].constant = i == kFactors;
    tensors[i].hash = {i, 1};
  }
  AttrStorage attrs[2];
  InitAttrs(OpCode::kConv2d, attrs[0]);
  InitAttrs(OpCode::kAdd, attrs[1]);
  const int32_t inputs[2][2] = {{kCodes, kFactors}, {kProducts, kOthers}};
  const int32_t outputs[2] = {kProducts, kSums};
  const PlanNode nodes[2] = {
      {FindOp(OpCode::kConv2d), &attrs[0], "node", {inputs[0], 2}, {&outputs[0], 1}, {}},
      {FindOp(OpCode::kAdd), &attrs[1], "node", {inputs[1], 2}, {&outputs[1], 1}, {}}};
  const auto view = [&](uint32_t begin, uint32_t end) {
    return SegmentView{{tensors, kCount}, {nodes, 2}, begin, end};
  };
  for (const int threads : {1, 2}) {
    const std::unique_ptr<DelegateSession> session = NewSession(**state, threads);
    RunNodes(*session, view(0, 1));
    RunNodes(*session, view(1, 2));
    const std::vector<int8_t> one_by_one = memory[kSums];
    std::fill_n(memory[kProducts].begin(), shapes[kProducts].elements(), int8_t{1});
    std::fill_n(memory[kSums].begin(), shapes[kSums].elements(), int8_t{1});
    const Follows follows = RunNodes(*session, view(0, 2));
    EXPECT_EQ(memory[kSums], one_by_one);
    if (threads == 1) {
      EXPECT_EQ(follows.node[1], own);
    }
  }
}

/// Rows whose codes are chosen at run time: each 0 of a row without negative numbers is the least code, which
/// meets the least weight.
TEST(Follow, ProductsOfTheLeastCodes) {
  constexpr int64_t kInputs = 64;
  constexpr int64_t kOutputs = 24;
  constexpr float kScale = 0.5f;
  enum { kReals, kCodes, kFactors, kProducts, kCount };
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  ASSERT_TRUE(state.ok());
  std::vector<float> memory[kCount];
  PlanTensor tensors[kCount];
  const Shape shapes[kCount] = {{3, kInputs}, {3, kInputs}, {}, {3, kOutputs}};
  for (const size_t i : {kReals, kCodes, kProducts}) {
    memory[i].resize(static_cast<size_t>(shapes[i].elements()) + 16);
    tensors[i].view = TensorView(memory[i].data(), DType::kF32, shapes[i]);
  }
  for (size_t row = 0; row < 3; ++row) memory[kReals][row * kInputs + row] = 2.55f;
  std::vector<int8_t> codes(kOutputs * kInputs + 16, INT8_MIN);
  const Quantization quantization{kScale, 0};
  const TensorView stored(codes.data(), DType::kI8, Shape{kOutputs, kInputs}, &quantization);
  std::atomic<uint64_t> held{0};
  WideConstant wide;
  ASSERT_TRUE(wide.Reserve(stored, &held).ok());
  wide.Pin();
  tensors[kFactors].view = TensorView(wide.elements(), DType::kF32, stored.shape);
  tensors[kFactors].wide = &wide;
  tensors[kFactors].constant = true;
  tensors[kFactors].hash = {1, 2};

  AttrStorage attrs[2];
  InitAttrs(OpCode::kFakeQuantize, attrs[0]);
  InitAttrs(OpCode::kFullyConnected, attrs[1]);
  const int32_t inputs[] = {kReals, kCodes, kFactors};
  const int32_t outputs[] = {kCodes, kProducts};
  const PlanNode nodes[2] = {
      {FindOp(OpCode::kFakeQuantize), &attrs[0], "codes", {inputs, 1}, {outputs, 1}, {}},
      {FindOp(OpCode::kFullyConnected), &attrs[1], "product", {inputs + 1, 2}, {outputs + 1, 1}, {}}};
  const std::unique_ptr<DelegateSession> session = NewSession(**state, 1);
  RunNodes(*session, {{tensors, kCount}, {nodes, 2}, 0, 2});
  for (size_t i = 0; i < 3 * kOutputs; ++i)
    EXPECT_NEAR(memory[kProducts][i], 2.55f * INT8_MIN * kScale, 1e-3f) << i;
}

}  // namespace
}  // namespace skiff::testing
