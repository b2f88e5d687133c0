#include "cli/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/quantization.h"

namespace skiff::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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
  EXPECT_THAT(summary.first, ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 200);
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

}  // namespace
}  // namespace skiff::cli
