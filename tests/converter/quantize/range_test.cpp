// What calibration sees, and the ranges and codes that follow from it.
#include "quantize/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "quantize/weights.h"

namespace skiff::testing {
namespace {

constexpr int kLevels = 256;
constexpr double kPercentile = 99.0;

std::vector<float> Normal(size_t count, float deviation, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

Observer Seen(const std::vector<float>& values) {
  Observer observer;
  observer.Add(values, 0);
  return observer;
}

TEST(Observer, CountsEveryNumberWhateverTheOrderOfItsCalls) {
  const std::vector<float> small = Normal(1000, 0.01f, 1);
  const std::vector<float> large = Normal(1000, 50, 2);
  Observer up;
  up.Add(small, 0);
  up.Add(large, 0);
  Observer down;
  down.Add(large, 0);
  down.Add(small, 0);
  EXPECT_EQ(up.reach(), down.reach());
  EXPECT_EQ(up.min(), down.min());
  EXPECT_EQ(up.max(), down.max());
  int64_t all = 0;
  for (size_t i = 0; i < up.bins().size(); ++i) {
    all += up.bins()[i];
    // A number on the edge of two bins may be in either of them.
    EXPECT_NEAR(static_cast<double>(up.bins()[i]), static_cast<double>(down.bins()[i]), 2) << i;
  }
  EXPECT_EQ(all, 2000);
}

TEST(Observer, KeepsZerosAndWhatIsNotFiniteApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Observer seen = Seen({0, 1, nan, -infinity, 0, 2});
  EXPECT_EQ(seen.zeros(), 2);
  EXPECT_EQ(seen.not_finite(), 2);
  EXPECT_EQ(seen.count(), 4);
  EXPECT_EQ(seen.min(), 0);
  EXPECT_EQ(seen.max(), 2);
  EXPECT_EQ(Seen({}).count(), 0);
  EXPECT_EQ(Seen({nan}).count(), 0);
}

TEST(Observer, SeesHowLargeChannelsBecome) {
  Observer observer;
  observer.Add(std::vector<float>{1, -10, 3, 20}, 2);
  observer.Add(std::vector<float>{5, 5}, 2);
  EXPECT_EQ(observer.channel_largest(), (std::vector<float>{5, 20}));
}

TEST(Range, HoldsZeroAndAllThatWasSeenByMinMax) {
  EXPECT_EQ(ChooseRange(Seen({2, 5}), RangeMethod::kMinMax, kLevels, kPercentile), (Range{0, 5}));
  EXPECT_EQ(ChooseRange(Seen({-3, -1}), RangeMethod::kMinMax, kLevels, kPercentile), (Range{-3, 0}));
  for (const RangeMethod method : {RangeMethod::kMinMax, RangeMethod::kMovingAverage,
                                   RangeMethod::kPercentile, RangeMethod::kMse, RangeMethod::kEntropy}) {
    EXPECT_EQ(ChooseRange(Seen({}), method, kLevels, kPercentile), (Range{0, 0}));
    EXPECT_EQ(ChooseRange(Seen({0, 0}), method, kLevels, kPercentile), (Range{0, 0}));
  }
}

TEST(Range, OfPercentileLeavesThatShareBeyond) {
  std::vector<float> values;
  for (int i = -1000; i <= 1000; ++i) values.push_back(static_cast<float>(i) / 100);
  const Range range = ChooseRange(Seen(values), RangeMethod::kPercentile, kLevels, 95);
  EXPECT_NEAR(range.low, -9, 0.02);
  EXPECT_NEAR(range.high, 9, 0.02);
  // Most are zeros, which count.
  std::vector<float> sparse(990, 0);
  for (int i = 1; i <= 10; ++i) sparse.push_back(static_cast<float>(i));
  EXPECT_NEAR(ChooseRange(Seen(sparse), RangeMethod::kPercentile, kLevels, 99.55).high, 6, 0.01);
}

TEST(Range, OfMovingAverageForgets) {
  Observer observer;
  observer.Add(std::vector<float>{-1, 1}, 0);
  observer.Add(std::vector<float>{-1, 11}, 0);
  const Range range = ChooseRange(observer, RangeMethod::kMovingAverage, kLevels, kPercentile);
  EXPECT_NEAR(range.low, -1, 1e-9);
  EXPECT_NEAR(range.high, 2, 1e-9);
}

/// A single number far away is not worth coarser steps for all others.
TEST(Range, OfLeastErrorsClipsOutliersOnly) {
  std::vector<float> values = Normal(1000000, 1, 3);
  const Observer plain = Seen(values);
  values.push_back(40);
  const Observer outlier = Seen(values);
  for (const RangeMethod method : {RangeMethod::kMse, RangeMethod::kEntropy}) {
    const Range range = ChooseRange(outlier, method, kLevels, kPercentile);
    EXPECT_LT(range.high, 30) << static_cast<int>(method);
    EXPECT_GT(range.high, 3) << static_cast<int>(method);
  }
  const Range chosen = ChooseRange(outlier, RangeMethod::kMse, kLevels, kPercentile);
  const Range whole = ChooseRange(outlier, RangeMethod::kMinMax, kLevels, kPercentile);
  EXPECT_LT(SquareError(outlier, chosen, kLevels), 0.6 * SquareError(outlier, whole, kLevels));
  EXPECT_GT(ClippedShare(outlier, chosen), 0);
  EXPECT_LT(ClippedShare(outlier, chosen), 1e-3);
  EXPECT_LE(SquareError(plain, ChooseRange(plain, RangeMethod::kMse, kLevels, kPercentile), kLevels),
            SquareError(plain, ChooseRange(plain, RangeMethod::kMinMax, kLevels, kPercentile), kLevels));
}

/// Of few numbers most bins are empty, also those at the ends of a narrower range; what it clips counts.
TEST(Range, OfLeastDivergenceKeepsFewNumbers) {
  for (const int count : {40, 160, 3200}) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i)
      values.push_back(static_cast<float>(std::fmod(i * 0.6180339887, 1.0) * 2 - 1));
    const Observer seen = Seen(values);
    const Range whole = ChooseRange(seen, RangeMethod::kMinMax, 65535, kPercentile);
    const Range range = ChooseRange(seen, RangeMethod::kEntropy, 65535, kPercentile);
    EXPECT_NEAR(range.low, whole.low, 0.01) << count;
    EXPECT_NEAR(range.high, whole.high, 0.01) << count;
    EXPECT_LT(ClippedShare(seen, ChooseRange(seen, RangeMethod::kEntropy, kLevels, kPercentile)), 0.05)
        << count;
  }
}

/// 256 levels of a picture, from -1 to 1, are no multiples of a step of 2 / 255: all would be off by half of
/// it.
TEST(Range, HasStepsWhereNumbersAreSteps) {
  std::vector<float> levels;
  for (int i = 0; i < 256; ++i) levels.push_back(static_cast<float>(i) / 127.5F - 1);
  const Observer seen = Seen(levels);
  const Range range = ChooseRange(seen, RangeMethod::kMinMax, kLevels, kPercentile);
  EXPECT_LT(SquareError(seen, range, kLevels), 0.5 * SquareError(seen, {-1, 1}, kLevels));
  EXPECT_NEAR(range.high - range.low, 2, 1.0 / 127);
}

TEST(Range, BecomesCodesThatHaveAZero) {
  const QuantizationPtr positive = QuantizationFor({0, 25.5}, DType::kI8);
  EXPECT_EQ(positive->zero_point, -128);
  EXPECT_FLOAT_EQ(positive->scale, 0.1f);
  const QuantizationPtr both = QuantizationFor({-1, 3}, DType::kI8);
  EXPECT_EQ(both->zero_point, -64);
  const QuantizationPtr words = QuantizationFor({-1, 3}, DType::kI16);
  EXPECT_EQ(words->zero_point, 0);
  EXPECT_FLOAT_EQ(words->scale, 3.0f / 32767);
  EXPECT_EQ(QuantizationFor({0, 0}, DType::kI8)->scale, 1);
  EXPECT_EQ(QuantizationFor({0, 1e-42}, DType::kI8)->scale, 1);
}

TEST(Weights, HaveAScaleForEachChannel) {
  const TensorData weights(DType::kF32, {2, 2}, std::vector<float>{1.27f, -0.5f, 0, 127}.data());
  const TensorData codes = NearestCodes(weights, GridPerChannel(weights, WeightScales::kLargest));
  EXPECT_EQ(codes.ToInts(), (std::vector<int64_t>{127, -50, 0, 127}));
  EXPECT_FLOAT_EQ(codes.quantization()->ScaleAt(0), 0.01f);
  EXPECT_FLOAT_EQ(codes.quantization()->ScaleAt(1), 1);
  EXPECT_FLOAT_EQ(GridPerChannel(weights, WeightScales::kLargest, {0.5, 0}).ScaleAt(0), 0.5f);
}

double SquaredDifference(const TensorData& a, const TensorData& b) {
  const std::vector<double> x = a.ToDoubles();
  const std::vector<double> y = b.ToDoubles();
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

TEST(Weights, OfFourBitsHaveAScaleForEachRun) {
  std::vector<float> numbers = Normal(6 * 80, 1, 4);
  for (size_t i = 0; i < 80; ++i) numbers[i] *= 100;
  const TensorData weights(DType::kF32, {6, 80}, numbers.data());
  const TensorData codes = NearestCodes(weights, GridOfFourBits(weights, 32));
  EXPECT_EQ(codes.dtype(), DType::kI4);
  EXPECT_EQ(codes.quantization()->count, 6 * 3);  // 32 + 32 + 16
  EXPECT_EQ(codes.size_bytes(), 240u);
  for (const int64_t code : codes.ToInts()) EXPECT_LE(std::abs(code), 7);
  const TensorData zeros(DType::kF32, {6, 80});
  EXPECT_LT(SquaredDifference(weights, codes), 0.02 * SquaredDifference(weights, zeros));
  const TensorData narrow(DType::kF32, {6, 20, 4}, numbers.data());
  EXPECT_EQ(NearestCodes(narrow, GridOfFourBits(narrow, 32)).quantization()->count, 6);
}

TEST(Weights, RoundedToHalvesAreNoneWhereOneIsTooLarge) {
  const TensorData fits(DType::kF32, {2}, std::vector<float>{0.1f, 60000}.data());
  ASSERT_TRUE(RoundedToHalves(fits));
  EXPECT_NEAR(RoundedToHalves(fits)->ToDoubles()[0], 0.1, 1e-4);
  const TensorData large(DType::kF32, {2}, std::vector<float>{0.1f, 70000}.data());
  EXPECT_FALSE(RoundedToHalves(large));
}

}  // namespace
}  // namespace skiff::testing
