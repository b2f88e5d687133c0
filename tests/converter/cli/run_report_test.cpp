#include "cli/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/quantization.h"

namespace skiff::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

PortInfo Port(Span<const char* const> labels = {}) {
  PortInfo port;
  port.name = "y";
  port.dtype = DType::kF32;
  port.labels = labels;
  return port;
}

std::string TextOf(const TensorData& tensor, std::optional<size_t> top = {}) {
  const PortInfo port = Port();
  return OutputText(Summarise(port, tensor, top, ""));
}

/// None has classes, and no label is not the label of each of none.
TEST(OutputSummary, OfScalarsAndOfNoElements) {
  for (const std::optional<size_t> top : {std::optional<size_t>(), std::optional<size_t>(3)}) {
    EXPECT_THAT(TextOf(TensorData::ScalarF32(2), top),
                AllOf(HasSubstr("f32 [], min 2, max 2, mean 2"), Not(HasSubstr("class"))));
    for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{1, 0, 1}})
      EXPECT_THAT(TextOf(TensorData(DType::kF32, shape), top), Not(HasSubstr("min")));
  }
}

/// More than a piece, quantised along an axis.
TEST(OutputSummary, OfManyElements) {
  constexpr int64_t kRows = 100000;
  TensorData codes(DType::kI8, {kRows, 2});
  for (int64_t i = 0; i < 2 * kRows; ++i) static_cast<int8_t*>(codes.mutable_data())[i] = 1;
  static_cast<int8_t*>(codes.mutable_data())[2 * kRows - 1] = 100;
  Quantization quantization;
  const float scales[] = {1, 2};
  quantization.axis = 1;
  quantization.scales = scales;
  quantization.count = 2;
  const PortInfo port = Port();
  const TensorData numbers = codes.Quantized(CopyOf(&quantization));
  const OutputSummary summary = Summarise(port, numbers, {}, "");
  const Json json = OutputJson(summary);
  EXPECT_EQ(json["first_values"], Json({1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(json["min"], 1);
  EXPECT_EQ(json["max"], 200);
  EXPECT_DOUBLE_EQ(summary.mean, (3.0 * kRows + 198) / (2 * kRows));
}

TEST(OutputSummary, CountsWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(TextOf(TensorData::OfFloats({1, nan, -3})),
              AllOf(HasSubstr("min -3, max 1"), HasSubstr("1 not finite")));
}

TEST(OutputSummary, BestClassesOfEachRow) {
  const char* const labels[] = {"a", "b"};
  const PortInfo port = Port({labels, 2});
  const float scores[] = {1, 2, 4, 3};
  const TensorData tensor(DType::kF32, {2, 2}, scores);
  EXPECT_THAT(OutputText(Summarise(port, tensor, {}, "")),
              AllOf(HasSubstr("row 0:\n  1. b  (score 2"), HasSubstr("row 1:\n  1. a  (score 4")));
}

/// Doubles hold 53 bits.
TEST(OutputSummary, LongIntegersAreWhole) {
  const PortInfo port = Port();
  const uint64_t codes[] = {~uint64_t{0}, ~uint64_t{0} - 1};
  const TensorData numbers(DType::kU64, {2}, codes);
  const Json json = OutputJson(Summarise(port, numbers, {}, ""));
  EXPECT_EQ(json["first_values"], Json({codes[0], codes[1]}));
  EXPECT_EQ(json["min"], codes[1]);
  EXPECT_EQ(json["max"], codes[0]);
  const TensorData signs = TensorData::OfInts({-9007199254740993, 9007199254740993});
  EXPECT_THAT(TextOf(signs), AllOf(HasSubstr("min -9007199254740993, max 9007199254740993"),
                                   HasSubstr("first values: -9007199254740993 9007199254740993")));
}

TEST(OutputSummary, NaNIsNeitherLeastNorMostWhereverItStands) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& values : {std::vector<float>{nan, 1, 2}, std::vector<float>{1, 2, nan}})
    EXPECT_THAT(TextOf(TensorData(DType::kF32, {3}, values.data())), HasSubstr("min 1, max 2"));
}

}  // namespace
}  // namespace skiff::cli
