#include "skiff/quantize.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "graph/text.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 6;
constexpr int kColumns = 50;
const Shape kShape{kRows, kColumns};

/// What operator Quantize, or Dequantize, makes of it.
TensorData Evaluated(const char* op, const TensorData& x, DType dtype, const QuantizationPtr& quantization) {
  const auto type = [](DType of, const QuantizationPtr& by) {
    return fmt::format("{}[{}, {}]{}", DTypeName(of), kRows, kColumns, QuantizationText(by));
  };
  const Graph graph =
      ParseGraph(fmt::format("graph g {{\n input x: {}\n y: {} = {}(x)\n output y\n}}",
                             type(x.dtype(), x.quantization()), type(dtype, quantization), op));
  return Evaluate(graph, {{"x", x}}).at("y");
}

/// Halves of steps, everything between, and what lies far outside of each dtype.
TensorData Numbers() {
  TensorData reals(DType::kF32, kShape);
  std::mt19937 generator(1);
  auto* to = static_cast<float*>(reals.mutable_data());
  for (int i = 0; i < kRows * kColumns; ++i) {
    const float step = static_cast<float>(static_cast<int>(generator() % 2001) - 1000) * 0.125f;
    to[i] = i % 3 == 0 ? step : std::ldexp(step, static_cast<int>(generator() % 30));
  }
  to[0] = std::numeric_limits<float>::quiet_NaN();
  to[1] = std::numeric_limits<float>::infinity();
  to[2] = -std::numeric_limits<float>::infinity();
  return reals;
}

std::vector<QuantizationPtr> Kinds() {
  std::vector<float> scales(kColumns);
  std::vector<int32_t> zero_points(kColumns);
  for (size_t i = 0; i < kColumns; ++i) {
    scales[i] = 0.25f * static_cast<float>(i + 1);
    zero_points[i] = static_cast<int32_t>(i);
  }
  return {PerTensor(0.25f, 7), PerTensor(0.3f), PerAxis(1, scales, zero_points),
          PerAxis(0, std::vector<float>(2 * kColumns, 0.7f), {}, 4)};
}

TEST(Quantize, IsWhatTheOperatorsCompute) {
  const TensorData reals = Numbers();
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32}) {
    for (const QuantizationPtr& quantization : Kinds()) {
      SCOPED_TRACE(DTypeName(dtype) + QuantizationText(quantization));
      TensorData codes(dtype, kShape);
      const TensorView view(codes.mutable_data(), dtype, kShape, quantization.get());
      ASSERT_TRUE(QuantizeFloats(reals.as<float>(), view).ok());
      const TensorData expected = Evaluated("Quantize", reals, dtype, quantization);
      EXPECT_EQ(codes.ToInts(), expected.ToInts());

      std::vector<float> back(kRows * kColumns);
      ASSERT_TRUE(DequantizeToFloats(view, back.data()).ok());
      const TensorData real = Evaluated("Dequantize", expected, DType::kF32, nullptr);
      EXPECT_EQ(back, std::vector<float>(real.as<float>(), real.as<float>() + real.elements()));
    }
  }
}

TEST(Quantize, RefusesWhatIsNoQuantisedTensor) {
  float reals[4] = {};
  uint8_t codes[4] = {};
  const auto why_not = [&](const TensorView& view, const float* from) -> std::string {
    ErrorCapture capture;
    EXPECT_EQ(QuantizeFloats(from, view).code(), StatusCode::kInvalidArgument);
    return capture.message();
  };
  const QuantizationPtr one = PerTensor(1);
  const QuantizationPtr three = PerAxis(0, {1, 1, 1});
  EXPECT_THAT(why_not({codes, DType::kU8, {4}}, reals),
              HasSubstr("u8 [4] cannot stand for real numbers: it is not"));
  EXPECT_THAT(why_not({codes, DType::kU8, {4}, three.get()}, reals), HasSubstr("another number of scales"));
  EXPECT_THAT(why_not({codes, DType::kU8, {-4}, one.get()}, reals), HasSubstr("u8 [-4] has a negative"));
  const int64_t much = int64_t{1} << 32;  // Squared, it wraps around to no elements.
  EXPECT_THAT(why_not({nullptr, DType::kU8, {much, much}, one.get()}, nullptr),
              HasSubstr("has more than 2^46 bytes"));
  EXPECT_THAT(why_not({nullptr, DType::kU8, {4}, one.get()}, reals), HasSubstr("null"));
  EXPECT_THAT(why_not({codes, DType::kU8, {4}, one.get()}, nullptr), HasSubstr("null"));
  EXPECT_THAT(why_not({codes, DType::kI4, {4}, one.get()}, reals), HasSubstr("only constants"));
  EXPECT_THAT(why_not({codes, DType::kF32, {1}, one.get()}, reals), HasSubstr("cannot be quantised"));
  TensorView apart(codes, DType::kU8, {2, 1}, one.get());
  apart.row_stride = 2;
  EXPECT_THAT(why_not(apart, reals), HasSubstr("rows lie apart"));
  EXPECT_TRUE(QuantizeFloats(nullptr, {nullptr, DType::kU8, {0}, one.get()}).ok());
}

}  // namespace
}  // namespace skiff::testing
