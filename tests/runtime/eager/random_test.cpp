// Random: the generator's published numbers, and what is promised of draws.
#include <algorithm>
#include <numeric>

#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

std::vector<double> Draw(int64_t count, const RandomAttrs& attrs, int64_t run = 0) {
  return Values(RunOp(OpCode::kRandom, {List({count}), I64({}, {run})}, attrs));
}

/// Philox 4x32-10 of a counter and a key of zeros, as the authors' Random123 lists it (kat_vectors).
TEST(Random, KnownAnswer) {
  const double unit = 0x1p-24;
  EXPECT_EQ(Draw(4, {}),
            (std::vector<double>{0x6627e8 * unit, 0xe169c5 * unit, 0xbc57ac * unit, 0x9b00db * unit}));
}

TEST(Random, RunsStreamsAndSeedsDiffer) {
  const std::vector<double> first = Draw(16, {});
  EXPECT_EQ(Draw(16, {}), first);
  EXPECT_NE(Draw(16, {}, 1), first);
  EXPECT_NE(Draw(16, {.seed = 1}), first);
  EXPECT_NE(Draw(16, {.seed = int64_t{1} << 32}), first);
  EXPECT_NE(Draw(16, {.stream = 1}), first);
  // An element does not depend on how many there are.
  const std::vector<double> more = Draw(37, {});
  EXPECT_TRUE(std::equal(first.begin(), first.end(), more.begin()));
}

TEST(Random, UniformNumbersStayBelowTheEnd) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const std::vector<double> drawn = Draw(40000, {.dtype = static_cast<int64_t>(dtype), .seed = 5});
    const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
    EXPECT_GE(*least, 0);
    EXPECT_LT(*most, 1);
    const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / 40000;
    EXPECT_NEAR(mean, 0.5, 0.01) << DTypeName(dtype);
  }
  const std::vector<double> shifted = Draw(1000, {.low = -3, .high = -1});
  EXPECT_TRUE(std::all_of(shifted.begin(), shifted.end(), [](double x) { return x >= -3 && x < -1; }));
}

/// What the numbers are made of is computed here with the C library.
TEST(Random, NormalNumbersAreThoseOfBoxAndMuller) {
  const std::vector<double> drawn =
      Draw(4, {.distribution = Distribution::kNormal, .dtype = static_cast<int64_t>(DType::kF64)});
  const double words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (size_t i = 0; i < 4; i += 2) {
    const double radius = std::sqrt(-2 * std::log((words[i] + 1) * 0x1p-32));
    const double angle = 2 * M_PI * words[i + 1] * 0x1p-32;
    EXPECT_NEAR(drawn[i], radius * std::cos(angle), 1e-14);
    EXPECT_NEAR(drawn[i + 1], radius * std::sin(angle), 1e-14);
  }
}

TEST(Random, NormalNumbersHaveTheirMeanAndDeviation) {
  const std::vector<double> drawn =
      Draw(60001, {.distribution = Distribution::kNormal, .mean = 3, .deviation = 2});
  double sum = 0, squares = 0, fourth = 0;
  for (const double x : drawn) {
    const double z = (x - 3) / 2;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / 60001, 0, 0.02);
  EXPECT_NEAR(squares / 60001, 1, 0.02);
  EXPECT_NEAR(fourth / 60001, 3, 0.15);
}

TEST(Random, EdgesAndErrors) {
  EXPECT_TRUE(Draw(0, {}).empty());
  EXPECT_EQ(Draw(3, {.low = 2, .high = 2}), (std::vector<double>{2, 2, 2}));
  const auto attrs = [](DType dtype) { return RandomAttrs{.dtype = static_cast<int64_t>(dtype)}; };
  ExpectError(Op(OpCode::kRandom, {List({2})}, attrs(DType::kI32)), "cannot be drawn");
  ExpectError(Op(OpCode::kRandom, {List({2})}, RandomAttrs{.dtype = 99}), "unknown");
  ExpectError(Op(OpCode::kRandom, {List({2})}, RandomAttrs{.low = 2, .high = 1}), "between");
  ExpectError(Op(OpCode::kRandom, {List({2}), List({1})}, RandomAttrs{}), "rank 0");
}

}  // namespace
}  // namespace skiff::test
