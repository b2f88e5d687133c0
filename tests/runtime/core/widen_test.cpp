#include "core/widen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/half.h"
#include "graph/evaluate.h"
#include "graph/text.h"

namespace skiff::testing {
namespace {

/// By the definition of the format.
float Defined(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                           : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                            : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>((half & 0x8000) != 0 ? -magnitude : magnitude);
}

TEST(Widen, EveryHalf) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(halves.size());
  WidenHalves(halves.data(), static_cast<int64_t>(halves.size()), floats.data());
  for (size_t i = 0; i < halves.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(floats[i]);
    if (std::isnan(floats[i])) {
      ASSERT_TRUE(std::isnan(Defined(halves[i]))) << i;
      ASSERT_EQ(bits >> 31, i >> 15) << i;
      ASSERT_EQ(bits >> 13 & 1023, i & 1023) << "the payload of NaN " << i;
    } else {
      ASSERT_EQ(bits, std::bit_cast<uint32_t>(Defined(halves[i]))) << i;
    }
  }
}

TEST(Widen, AnyNumberOfHalves) {
  std::vector<uint16_t> halves(600, 0x3c00);
  for (const size_t count : {0u, 1u, 255u, 256u, 257u, 599u}) {
    std::vector<float> floats(601, 7);
    WidenHalves(halves.data(), static_cast<int64_t>(count), floats.data());
    for (size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(floats[i], i < count ? 1 : 7) << count;
  }
}

/// `count` scales that differ, and zero points within i4.
QuantizationPtr Scales(int axis, int64_t count, int64_t block) {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < count; ++i) {
    scales.push_back(0.1f + 0.37f * static_cast<float>(i));
    zero_points.push_back(static_cast<int32_t>(i % 8));
  }
  return PerAxis(axis, scales, zero_points, block);
}

struct Kind {
  Shape shape;
  QuantizationPtr quantization;
};

std::vector<Kind> Kinds() {
  return {{Shape{700}, PerTensor(0.3f, 5)},
          {Shape{}, PerTensor(0.7f)},
          {Shape{0, 3}, PerTensor(1)},
          {Shape{3, 0}, Scales(0, 3, 0)},
          {Shape{7, 300}, Scales(0, 7, 0)},
          {Shape{7, 301}, Scales(1, 301, 0)},
          {Shape{3, 5, 7}, Scales(1, 5, 0)},
          {Shape{3, 5, 7}, Scales(2, 7, 0)},
          {Shape{1, 5, 1}, Scales(1, 5, 0)},
          {Shape{4, 70}, Scales(1, 4 * 3, 32)},
          {Shape{70, 3}, Scales(0, 3 * 3, 32)},
          {Shape{2, 9, 4}, Scales(1, 2 * 3 * 4, 4)},
          {Shape{3, 600}, Scales(1, 3 * 2, 300)},
          {Shape{5, 3}, Scales(1, 5, INT64_MAX)},
          {Shape{5, 3}, Scales(0, 15, 1)}};
}

/// As Dequantize makes them: bit by bit.
TEST(Widen, CodesAreWhatDequantizeMakes) {
  const DType dtypes[] = {DType::kI4,  DType::kU4,  DType::kI8, DType::kU8,
                          DType::kI16, DType::kU16, DType::kI32};
  for (const DType dtype : dtypes) {
    for (const Kind& kind : Kinds()) {
      const std::string type = fmt::format("{}{}{}", DTypeName(dtype), ShapeText(kind.shape).c_str(),
                                           QuantizationText(kind.quantization));
      SCOPED_TRACE(type);
      TensorData codes(dtype, kind.shape);
      auto* bytes = static_cast<unsigned char*>(codes.mutable_data());
      for (size_t i = 0; i < codes.size_bytes(); ++i)
        bytes[i] = static_cast<unsigned char>(i * 167 + 13 * (i / 7));
      codes = codes.Quantized(kind.quantization);
      const Graph graph = ParseGraph(
          fmt::format("graph g {{\n input x: {}{}{}\n y = Dequantize(x)\n output y\n}}", DTypeName(dtype),
                      ShapeText(kind.shape).c_str(), QuantizationText(kind.quantization)));
      const TensorData expected = Evaluate(graph, {{"x", codes}}).at("y");
      std::vector<float> got(static_cast<size_t>(codes.elements()) + 1, 42);
      WidenCodes(codes.view(), got.data());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.size_bytes()), 0);
      EXPECT_EQ(got.back(), 42);
    }
  }
}

TEST(Widen, OnlyHalvesAndQuantisedIntegers) {
  EXPECT_TRUE(CanWiden(DType::kF16, false));
  EXPECT_TRUE(CanWiden(DType::kU4, true));
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kBool, DType::kI64, DType::kInvalid})
    EXPECT_FALSE(CanWiden(dtype, true)) << DTypeName(dtype);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI8, DType::kI4, DType::kInvalid})
    EXPECT_FALSE(CanWiden(dtype, false)) << DTypeName(dtype);
}

}  // namespace
}  // namespace skiff::testing
