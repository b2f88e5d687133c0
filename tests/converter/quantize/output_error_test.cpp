#include "quantize/output_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace skiff::testing {
namespace {

TensorData Floats(const std::vector<float>& values) {
  return TensorData(DType::kF32, {static_cast<int64_t>(values.size())}, values.data());
}

OutputError ErrorOf(const TensorData& expected, const TensorData& got) {
  OutputError error;
  error.Add({{"y", expected}}, {{"y", got}});
  return error;
}

TEST(OutputError, IsWhatItsNameSays) {
  const OutputError error = ErrorOf(Floats({3, 0, 4}), Floats({3, 1, 4}));
  EXPECT_DOUBLE_EQ(error.Of(ErrorMeasure::kLargest), 0.25);
  EXPECT_DOUBLE_EQ(error.Of(ErrorMeasure::kRms), 0.2);
  EXPECT_NEAR(error.Of(ErrorMeasure::kCosine), 1 - 25 / (5 * std::sqrt(26.0)), 1e-12);
  EXPECT_EQ(error.Of(ErrorMeasure::kTop1), 0);
  EXPECT_NEAR(error.SignalToNoise("y"), 10 * std::log10(25), 1e-9);
  EXPECT_EQ(ErrorOf(Floats({1, 2}), Floats({2, 1})).Of(ErrorMeasure::kTop1), 1);
}

TEST(OutputError, IsNoneOfEqualTensorsAlsoOfZeros) {
  for (const TensorData& same : {Floats({1, -2}), Floats({0, 0}), Floats({})}) {
    const OutputError error = ErrorOf(same, same);
    for (const ErrorMeasure measure :
         {ErrorMeasure::kLargest, ErrorMeasure::kRms, ErrorMeasure::kCosine, ErrorMeasure::kTop1})
      EXPECT_EQ(error.Of(measure), 0) << MeasureName(measure);
  }
}

TEST(OutputError, IsOfTheWorstOutputAndTheLargestElementOfAllCalls) {
  OutputError error;
  error.Add({{"a", Floats({10})}, {"b", Floats({1})}}, {{"a", Floats({10})}, {"b", Floats({1.5f})}});
  error.Add({{"a", Floats({1})}, {"b", Floats({5})}}, {{"a", Floats({2})}, {"b", Floats({5})}});
  EXPECT_DOUBLE_EQ(error.Of("a", ErrorMeasure::kLargest), 0.1);
  EXPECT_DOUBLE_EQ(error.Of("b", ErrorMeasure::kLargest), 0.1);
  EXPECT_DOUBLE_EQ(error.Of(ErrorMeasure::kLargest), 0.1);
}

TEST(OutputError, OfIntegersIsTheShareThatDiffers) {
  const TensorData a(DType::kI32, {4}, std::vector<int32_t>{1, 2, 3, 4}.data());
  const TensorData b(DType::kI32, {4}, std::vector<int32_t>{1, 2, 3, 9}.data());
  EXPECT_DOUBLE_EQ(ErrorOf(a, b).Of(ErrorMeasure::kLargest), 0.25);
}

TEST(OutputError, IsInfiniteWhereNumbersAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(ErrorOf(Floats({1}), Floats({nan})).Of(ErrorMeasure::kRms)));
  EXPECT_EQ(ErrorOf(Floats({1, nan}), Floats({1, nan})).Of(ErrorMeasure::kRms), 0);
  EXPECT_TRUE(std::isinf(ErrorOf(Floats({1}), Floats({1, 2})).Of(ErrorMeasure::kRms)));
}

/// What pooling leaves behind of a classifier's scores.
TEST(OutputError, RowsOfScoresEndBeforeAxesOfOne) {
  const TensorData a(DType::kF32, {2, 3, 1, 1}, std::vector<float>{1, 2, 3, 1, 2, 3}.data());
  const TensorData b(DType::kF32, {2, 3, 1, 1}, std::vector<float>{1, 2, 3, 3, 2, 1}.data());
  EXPECT_DOUBLE_EQ(ErrorOf(a, b).Of(ErrorMeasure::kTop1), 0.5);
}

}  // namespace
}  // namespace skiff::testing
