#include "passes/shapes/baked_sizes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"

namespace skiff {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Of(const char* text) { return BakedSizes(ParseGraph(text)); }

TEST(BakedSizes, TheTargetOfAReshapeHasTheBatchOfTheExport) {
  EXPECT_THAT(
      Of(R"(graph g {
    symbol batch: 1..
    input x: f32[batch, 4, 7]
    const flat: i64[2] = [1, 28]
    y = Reshape(x, flat)
    z = Neg(y)
    output z
  })"),
      ElementsAre(AllOf(HasSubstr("dimension 'batch' is open, but the net takes 1 alone: its exporter"),
                        HasSubstr("(at 2: "), HasSubstr("'y' (Reshape)"), HasSubstr("say --dim 'batch=1'"))));
}

/// As wide as the contract allows: with multiples, and with an end.
TEST(BakedSizes, OtherSizesThanOneAreFound) {
  EXPECT_THAT(Of(R"(graph g {
    symbol n: 8..64 multiple 8
    symbol rows: 1..
    input x: f32[rows, n, 3]
    const grid: i64[3] = [-1, 6, 8]
    y = Reshape(x, grid)
    const table: f32[16, 3] = seed 1
    z = Add(x, table)
    output y
    output z
  })"),
              ElementsAre(HasSubstr("'n' is open, but the net takes 16 alone where 'rows' is ")));
}

TEST(BakedSizes, WhatIsOpenIsOpen) {
  EXPECT_THAT(Of(R"(graph g {
    symbol batch: 1..
    input x: f32[batch, 4, 7]
    const flat: i64[2] = [-1, 28]
    y = Reshape(x, flat)
    output y
  })"),
              IsEmpty());
  EXPECT_THAT(Of("graph g { input x: f32[1, 4] y = Neg(x) output y }"), IsEmpty());
}

/// A dimension that follows another one has more than one size.
TEST(BakedSizes, SquaresAreOpen) {
  EXPECT_THAT(Of(R"(graph g {
    symbol h: 1..
    symbol w: 1..
    input x: f32[h, w]
    y = MatMul(x, x)
    output y
  })"),
              IsEmpty());
}

/// Halves that are put together again need even sizes.
TEST(BakedSizes, MultiplesAreOpen) {
  EXPECT_THAT(Of(R"(graph g {
    symbol n: 1..
    input x: f32[n, 6]
    const pairs: i64[3] = [-1, 2, 24]
    y = Reshape(x, pairs)
    output y
  })"),
              IsEmpty());
}

/// What the contract leaves out is tried where it allows no size that is taken.
TEST(BakedSizes, TheSizeMayBeOutsideOfTheContract) {
  EXPECT_THAT(Of(R"(graph g {
    symbol n: 1..2
    input x: f32[n, 6]
    const four: i64[2] = [4, 6]
    y = Reshape(x, four)
    output y
  })"),
              ElementsAre(HasSubstr("the net takes 4 alone")));
}

/// Nothing is said of a net that takes no size that is tried.
TEST(BakedSizes, NoSizeIsNoAnswer) {
  EXPECT_THAT(Of(R"(graph g {
    symbol n: 1..
    input x: f32[n, 4]
    const odd: i64[1] = [5]
    y = Reshape(x, odd)
    output y
  })"),
              IsEmpty());
}

/// A hint is not worth minutes: each of these dimensions would be tried with all of them written down.
TEST(BakedSizes, WithThousandsOfDimensionsItGivesUp) {
  std::string text = "graph g {\n";
  for (int i = 0; i < 2000; ++i) text += fmt::format("symbol a{0}: 1..\n symbol b{0}: 1..\n", i);
  text += "const one: i64[1] = [1]\n";
  for (int i = 0; i < 2000; ++i)
    text += fmt::format("input x{0}: f32[a{0}, b{0}]\n y{0} = Reshape(x{0}, one)\n output y{0}\n", i);
  EXPECT_LE(Of((text + "}").c_str()).size(), 400U);
}

}  // namespace
}  // namespace skiff
