#include "parity/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/half.h"

namespace skiff::cli {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TensorData F32(const std::vector<float>& values) { return TensorData::OfFloats(values); }

TEST(Compare, EqualTensorsHaveNoWorstElement) {
  const Comparison result = Compare(F32({1, -2}), F32({1, -2}), {});
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.worst, -1);
  EXPECT_EQ(result.max_error, 0);
  EXPECT_EQ(result.largest, 2);
}

TEST(Compare, ToleranceIsAShareOfTheLargestElement) {
  const Tolerance tolerance{.of_largest = 0.125};
  EXPECT_TRUE(Compare(F32({8, 0}), F32({8, 1}), tolerance).ok);
  const Comparison beyond = Compare(F32({8, 0}), F32({8, 1.25f}), tolerance);
  EXPECT_FALSE(beyond.ok);
  EXPECT_EQ(beyond.outside, 1);
  EXPECT_EQ(beyond.worst, 1);
  EXPECT_EQ(beyond.worst_expected, 0);
  EXPECT_EQ(beyond.worst_got, 1.25);
  EXPECT_EQ(beyond.relative(), 1.25 / 8);
}

TEST(Compare, AbsoluteAndRelativeToleranceAdd) {
  const Tolerance tolerance{.atol = 0.5, .rtol = 0.25};
  EXPECT_TRUE(Compare(F32({4, 0}), F32({5.5f, 0.5f}), tolerance).ok);
  EXPECT_FALSE(Compare(F32({4, 0}), F32({5.5625f, 0}), tolerance).ok);
  EXPECT_FALSE(Compare(F32({4, 0}), F32({4, 0.5625f}), tolerance).ok);
}

TEST(Compare, NanMustMeetNan) {
  const Tolerance generous{.atol = 1e30, .rtol = 1};
  EXPECT_TRUE(Compare(F32({kNan}), F32({kNan}), {}).ok);
  EXPECT_FALSE(Compare(F32({kNan}), F32({1}), generous).ok);
  EXPECT_FALSE(Compare(F32({1}), F32({kNan}), generous).ok);
}

TEST(Compare, InfinitiesMustAgreeInSign) {
  const Tolerance generous{.atol = 1e30, .rtol = 1};
  EXPECT_TRUE(Compare(F32({kInfinity, -kInfinity}), F32({kInfinity, -kInfinity}), {}).ok);
  EXPECT_FALSE(Compare(F32({kInfinity}), F32({-kInfinity}), generous).ok);
  EXPECT_FALSE(Compare(F32({kInfinity}), F32({3e38f}), generous).ok);
  EXPECT_FALSE(Compare(F32({3e38f}), F32({kInfinity}), generous).ok);
}

TEST(Compare, InfinityDoesNotWidenTheTolerance) {
  EXPECT_FALSE(Compare(F32({kInfinity, 1}), F32({kInfinity, 1.5f}), {.of_largest = 0.25}).ok);
}

TEST(Compare, IntegersBeyondDoublePrecisionStillDiffer) {
  const int64_t big = (int64_t{1} << 53);
  EXPECT_TRUE(Compare(TensorData::OfInts({big}), TensorData::OfInts({big}), {}).ok);
  EXPECT_FALSE(Compare(TensorData::OfInts({big}), TensorData::OfInts({big + 1}), {}).ok);
}

TEST(Compare, ShapesAndDtypesMustAgree) {
  const Comparison shapes = Compare(F32({1, 2}), F32({1, 2}).Reshaped({2, 1}), {});
  EXPECT_FALSE(shapes.ok);
  EXPECT_EQ(shapes.problem, "expected the shape [2], got [2, 1]");
  const Comparison dtypes = Compare(TensorData::OfInts({1}), F32({1}), {.atol = 1});
  EXPECT_FALSE(dtypes.ok);
  EXPECT_EQ(dtypes.problem, "expected i64, got f32");
}

TEST(Compare, FloatsOfDifferentWidthCompareByValue) {
  const Half half(0.5f);
  const TensorData narrow(DType::kF16, {1}, &half);
  EXPECT_TRUE(Compare(F32({0.5f}), narrow, {}).ok);
  EXPECT_FALSE(Compare(F32({0.25f}), narrow, {}).ok);
}

TEST(DefaultTolerance, FollowsTheStorageType) {
  EXPECT_EQ(DefaultTolerance(DType::kF32, {}).of_largest, 2e-5);
  EXPECT_EQ(DefaultTolerance(DType::kF16, {}).of_largest, 1e-2);
  EXPECT_EQ(DefaultTolerance(DType::kF32, {.f16 = true}).of_largest, 1e-2);
  EXPECT_EQ(DefaultTolerance(DType::kF32, {.quantized = true}).of_largest, 1e-1);
  EXPECT_EQ(DefaultTolerance(DType::kU8, {.quantized = true}).of_largest, 1e-1);
  EXPECT_EQ(DefaultTolerance(DType::kI16, {.quantized = true}).of_largest, 1e-2);
  EXPECT_EQ(Describe(DefaultTolerance(DType::kI64, {.f16 = true})), "exact");
}

}  // namespace
}  // namespace skiff::cli
