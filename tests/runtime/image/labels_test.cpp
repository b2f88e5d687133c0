#include "skiff/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_capture.h"
#include "skiff/log.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

const char* const kLabels[] = {"ant", "bee", "cat"};

PortInfo Scores() {
  PortInfo port;
  port.name = "scores";
  port.labels = {kLabels, 3};
  return port;
}

TEST(BestClasses, SortsWithLabels) {
  float scores[] = {1, 3, 2};
  std::array<ClassScore, 2> best;
  auto count = BestClasses(Scores(), TensorView(scores, DType::kF32, {1, 3}), {best.data(), best.size()});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 2u);
  EXPECT_EQ(best[0].index, 1);
  EXPECT_STREQ(best[0].label, "bee");
  EXPECT_EQ(best[0].score, 3);
  EXPECT_STREQ(best[1].label, "cat");
}

TEST(BestClasses, EqualOnesKeepTheirOrderAndNanIsLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float scores[] = {nan, 2, 5, 2, nan};  // More classes than labels.
  std::array<ClassScore, 8> best;
  auto count = BestClasses(Scores(), TensorView(scores, DType::kF32, {5}), {best.data(), best.size()});
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, 5u);
  std::vector<int64_t> order;
  for (size_t i = 0; i < *count; ++i) order.push_back(best[i].index);
  EXPECT_EQ(order, (std::vector<int64_t>{2, 1, 3, 0, 4}));
  EXPECT_STREQ(best[2].label, "");
}

TEST(BestClasses, SoftmaxOfARow) {
  float scores[] = {9, 9, 9, 0, 1000, 999};
  std::array<ClassScore, 1> best;
  auto count = BestClasses(Scores(), TensorView(scores, DType::kF32, {2, 3}), {best.data(), 1},
                           ScoreKind::kSoftmax, 1);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(best[0].index, 1);
  EXPECT_NEAR(best[0].score, 1 / (1 + std::exp(-1.0)), 1e-12);
}

TEST(BestClasses, IntegersCountAsWhatTheyStandFor) {
  uint8_t scores[] = {100, 0, 104};
  const Quantization codes = {0.25f, 100, Quantization::kPerTensor, 0, 1, nullptr, nullptr};
  std::array<ClassScore, 3> best;
  auto count = BestClasses(Scores(), TensorView(scores, DType::kU8, {3}, &codes), {best.data(), best.size()});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(best[0].score, 1);
  EXPECT_EQ(best[2].score, -25);
}

/// What the port says is of the port's shape; the scores may have another.
TEST(BestClasses, RefusesScalesOfAnotherShape) {
  const int8_t codes[8 * 3] = {};
  const float scale = 1;
  Quantization of_one;
  of_one.axis = 0;
  of_one.scales = &scale;
  PortInfo port = Scores();
  port.quantization = &of_one;
  ClassScore best;
  const ErrorCapture capture;
  EXPECT_EQ(
      BestClasses(port, ConstTensorView(codes, DType::kI8, {8, 3}), {&best, 1}, ScoreKind::kAsTheyAre, 7)
          .status()
          .code(),
      StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("its scales are not those of i8 [8, 3]: it has another number"));
  EXPECT_TRUE(BestClasses(port, ConstTensorView(codes, DType::kI8, {1, 3}), {&best, 1}).ok());
}

TEST(BestClasses, AxesThatPoolingLeavesAreNoClasses) {
  float scores[] = {1, 3, 2, 9, 8, 7};
  ClassScore best;
  auto count = BestClasses(Scores(), TensorView(scores, DType::kF32, {2, 3, 1, 1}), {&best, 1});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(best.index, 1);
  EXPECT_STREQ(best.label, "bee");
  ASSERT_TRUE(BestClasses(Scores(), TensorView(scores, DType::kF32, {2, 3, 1, 1}), {&best, 1},
                          ScoreKind::kAsTheyAre, 1)
                  .ok());
  EXPECT_EQ(best.index, 0);
  EXPECT_EQ(best.score, 9);
  EXPECT_EQ(ClassesOf({1, 1, 1, 5}), 5);
  EXPECT_EQ(ClassesOf({8, 1}), 1) << "eight scores of one class";
  EXPECT_EQ(ClassesOf({8, 1, 1, 1}), 1);
  EXPECT_EQ(ClassesOf({7}), 7);
  EXPECT_EQ(ClassesOf({}), 0);
}

TEST(BestClasses, RefusesWhatHasNoScores) {
  float scores[6] = {};
  ClassScore best;
  const auto refused = [&](const TensorView& view, int64_t row) {
    const ErrorCapture capture;
    EXPECT_EQ(BestClasses(Scores(), view, {&best, 1}, ScoreKind::kAsTheyAre, row).status().code(),
              StatusCode::kInvalidArgument);
    return std::string(capture.message());
  };
  EXPECT_THAT(refused(TensorView(scores, DType::kF32, {2, 3}), 2), HasSubstr("no row 2"));
  EXPECT_THAT(refused(TensorView(scores, DType::kF32, {2, 3}), -1), HasSubstr("no row -1"));
  EXPECT_THAT(refused(TensorView(scores, DType::kF32, {2, 0}), 0), HasSubstr("holds no scores"));
  EXPECT_THAT(refused(TensorView(scores, DType::kF32, {}), 0), HasSubstr("holds no scores"));
  EXPECT_THAT(refused(TensorView(scores, DType::kBool, {3}), 0), HasSubstr("holds no scores"));
  EXPECT_THAT(refused(TensorView(nullptr, DType::kF32, {3}), 0), HasSubstr("holds no scores"));
  const int64_t much = int64_t{1} << 33;
  EXPECT_THAT(refused(TensorView(scores, DType::kF32, {much, much}), 0), HasSubstr("holds no scores"));
}

}  // namespace
}  // namespace skiff::testing
