#include "graph/text.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/error.h"
#include "graph/verify.h"

namespace skiff {
namespace {

TEST(Text, PrintAndParseAreInverse) {
  const std::string text = R"(graph everything {
  symbol batch: 1..8 multiple 2
  symbol "length#1": 3..
  input image: f32[batch, 4, 4, 2]
  input "a b": i64["length#1"]
  const w: f32[3, 1, 1, 2] = [0.1, -2.5e-12, inf, -inf, nan, 3]
  const half: f16[2] = [0.5, -65504]
  const wide: f64[] = 0.1
  const counts: i64[2] = [-9223372036854775808, 9223372036854775807]
  const large: u64[1] = [18446744073709551615]
  const flags: bool[3] = [1, 0, 1]
  const nothing: f32[0, 2] = []
  conv: f32[batch, 4, 4, 3] = Conv2d(image, w, _) {strides=[2, 2], auto_pad=same_upper, min=0, max=6}
  left: f32, right: f32 = Split(conv, _) {axis=-1, parts=2}
  "/net/cast:0" = Cast(left) {to=f16}
  "input" = Resize2d(conv, counts, _) {mode=linear, exclude_outside=true}
  output probabilities = "/net/cast:0"
  output "input" = "input"
}
)";
  std::string expected = text;
  // Constants that no node and no output uses are not printed.
  for (const char* unused : {"half", "wide", "large", "flags", "nothing"}) {
    const size_t begin = expected.find(std::string("  const ") + unused);
    expected.erase(begin, expected.find('\n', begin) + 1 - begin);
  }
  const Graph graph = ParseGraph(text);
  EXPECT_EQ(PrintGraph(graph), expected);
  EXPECT_EQ(PrintGraph(ParseGraph(PrintGraph(graph))), expected);
}

TEST(Text, ElementsKeepTheirBits) {
  const Graph graph = ParseGraph(R"(graph g {
    const half: f16[2] = [0.5, -65504]
    const wide: f64[] = 0.1
    const large: u64[1] = [18446744073709551615]
    const bytes: i8[2] = [-128, 127]
    const flags: bool[2] = [7, 0]
  })");
  const auto constant = [&](const char* name) { return *graph.value(graph.FindValue(name)).constant; };
  EXPECT_EQ(constant("half").ToDoubles(), (std::vector<double>{0.5, -65504}));
  EXPECT_EQ(constant("wide").as<double>()[0], 0.1);
  EXPECT_EQ(constant("large").as<uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(constant("bytes").ToInts(), (std::vector<int64_t>{-128, 127}));
  EXPECT_EQ(constant("flags").ToInts(), (std::vector<int64_t>{1, 0}));
}

TEST(Text, SeedsDrawTheSameSmallValues) {
  const std::string text =
      "graph g { const a: f32[1000] = seed 7 const b: f32[1000] = seed 7 const c: f32[1000] = seed 8 "
      "const i: i32[1000] = seed 7 output a output b output c output i }";
  const Graph graph = ParseGraph(text);
  const auto constant = [&](const char* name) { return *graph.value(graph.FindValue(name)).constant; };
  EXPECT_EQ(constant("a").ToDoubles(), constant("b").ToDoubles());
  EXPECT_NE(constant("a").ToDoubles(), constant("c").ToDoubles());
  for (double number : constant("a").ToDoubles()) EXPECT_TRUE(number >= -1 && number < 1) << number;
  for (int64_t number : constant("i").ToInts()) EXPECT_TRUE(number >= -8 && number < 8) << number;
  EXPECT_NE(PrintGraph(graph).find("const a: f32[1000] = data 0x"), std::string::npos);
}

TEST(Text, EveryNodeIsItsOwnSource) {
  const Graph graph = ParseGraph("graph g { input x: f32[2] y = Neg(x) output y }");
  ASSERT_EQ(graph.sources().size(), 1u);
  EXPECT_EQ(graph.sources()[0].name, "y");
  EXPECT_EQ(graph.sources()[0].op, "Neg");
  EXPECT_EQ(graph.value(graph.FindValue("y")).source, "y");
}

/// Each has the open sizes around it.
TEST(Text, BodiesHaveSoManyOpenSizes) {
  std::string text = "graph g {\n  input c: bool[]\n  input x: f32[2]\n";
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("  input i{}: f32[n", i);
    for (int axis = 0; axis < 7; ++axis) text += fmt::format(", d{}_{}", i, axis);
    text += "]\n";
  }
  for (int i = 0; i < 80; ++i)
    text += fmt::format("  y{} = If(c, x) then {{ input a output a }} else {{ input b output b }}\n", i);
  text += "  output y0\n";
  try {
    ParseGraph(text + "}");
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what())
                  .find("line 1078, column 49: the bodies up to here have more than "
                        "1048576 open sizes together, 7001 of them in this one"),
              std::string::npos)
        << error.what();
  }
}

/// Ten thousands of them are looked up by name.
TEST(Text, ManyOpenSizes) {
  std::string text = "graph g {\n  symbol last: 2..5\n";
  for (int i = 0; i < 20'000; ++i) text += fmt::format("  input i{}: f32[d{}, last]\n", i, i);
  const Graph graph = ParseGraph(text + "}");
  ASSERT_EQ(graph.symbols().size(), 20'001u);
  EXPECT_EQ(graph.symbols()[0].max, 5);
  EXPECT_EQ(graph.symbols()[20'000].name, "d19999");
  EXPECT_EQ(graph.value(graph.inputs()[19'999].value).dims[1].symbol(), 0);
}

struct BadText {
  const char* text;
  const char* message;
};

class BadTexts : public testing::TestWithParam<BadText> {};

TEST_P(BadTexts, NameThePlace) {
  try {
    ParseGraph(GetParam().text);
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Text, BadTexts,
    testing::Values(
        BadText{"", "graph text, line 1, column 1: 'graph' was expected, got the end"},
        BadText{"graph g {\n  input x f32[2]\n}",
                "graph text, line 2, column 11: ':' was expected, got 'f32'"},
        BadText{"graph g {\n  input x: f33[2]\n}", "graph text, line 2, column 12: 'f33' is no dtype"},
        BadText{"graph g {\n  input x: f32\n}",
                "graph text, line 2, column 12: an input needs a shape; [] is that of a scalar"},
        BadText{"graph g {\n  input x: f32[-2]\n}",
                "graph text, line 2, column 16: an extent cannot be negative"},
        BadText{"graph g { symbol n: 8..1 input x: f32[n] }",
                "graph text, line 1, column 26: no size lies in 8..1 and is a multiple of 1"},
        BadText{"graph g { symbol n: 1..8 multiple 0 input x: f32[n] }",
                "graph text, line 1, column 37: no size lies in 1..8 and is a multiple of 0"},
        BadText{"graph g { input x: f32[2] y = Negate(x) }",
                "graph text, line 1, column 31: there is no operator 'Negate'"},
        BadText{
            "graph g {\n  input c: bool[]\n  y: bool[] = If(c) then { } else { input c: bool[] output c }\n}",
            "graph text, line 3, column 15: node 'y' (If), which comes from If 'y': its body 'then' has 0 "
            "inputs and 0 outputs, the node wants 0 and 1"},
        BadText{"graph g { y = Neg(x) }",
                "graph text, line 1, column 19: there is no value 'x' above this line"},
        BadText{"graph g { input x: f32[2] x = Neg(x) }",
                "graph text, line 1, column 27: the name 'x' is already taken"},
        BadText{"graph g { input x: f32[2] a, a = Split(x) }",
                "graph text, line 1, column 34: the name 'a' is already taken"},
        BadText{"graph g { input x: f32[2] y = Clamp(x) {low=1} }",
                "graph text, line 1, column 41: Clamp has no attribute 'low'"},
        BadText{"graph g { input x: f32[2] y = Clamp(x) {min=big} }",
                "graph text, line 1, column 45: a number was expected, got 'big'"},
        BadText{"graph g { input x: f32[2] y = Gelu(x) {approximate=sigmoid} }",
                "graph text, line 1, column 52: 'sigmoid' is no value of 'approximate'"},
        BadText{"graph g { const c: f32[9000000000000000000] = [1, 2, 3] }",
                "graph text, line 1, column 20: the shape [9000000000000000000] has more than 2^46 bytes"},
        BadText{
            "graph g { const c: f32[333333333333] = [1, 2, 3] }",
            "graph text, line 1, column 20: the shape [333333333333] has 333333333333 elements, 3 are given"},
        BadText{"graph g { const c: f32[333333333] = seed 1 }",
                "graph text, line 1, column 20: a text draws at most 1024 MiB of constants"},
        BadText{"graph g { const c: i4[5, 2147483648] = seed 1 }",
                "graph text, line 1, column 20: a text draws at most 1024 MiB of constants"},
        BadText{"graph g { const c: f32[2] = [1, 2, 3] }",
                "graph text, line 1, column 20: the shape [2] has 2 elements, 3 are given"},
        BadText{"graph g { const c: f32[2] = data 0x12 }",
                "graph text, line 1, column 29: the elements of a large constant are not in the text; write "
                "'seed N' to draw some"},
        BadText{"graph g { const c: f32[1, 1, 1, 1, 1, 1, 1, 1, 1] = seed 1 }",
                "graph text, line 1, column 23: no tensor has more than 8 dimensions"},
        BadText{"graph g { input x: f32[a, b, c, d, e, f, g, h, i, -1]",
                "graph text, line 1, column 23: no tensor has more than 8 dimensions"},
        BadText{"graph g { const x: i8[2] = [1, 300]", "graph text, line 1, column 20: 300 is no i8"},
        BadText{"graph g { const x: u32[1] = [-1]", "graph text, line 1, column 20: -1 is no u32"},
        BadText{"graph g { const x: i32[1] = [2.5]", "graph text, line 1, column 20: 2.5 is no i32"},
        BadText{"graph g { const x: i64[1] = [9223372036854775808]",
                "graph text, line 1, column 20: 9.223372036854776e+18 is no i64"},
        BadText{"graph g { input x: f32[99999999999999999999]",
                "graph text, line 1, column 24: 99999999999999999999 does not fit 64 bits"},
        BadText{"graph g { output \"x }", "graph text, line 1, column 18: the quoted name does not end"},
        BadText{"graph g { } rest", "graph text, line 1, column 13: text after the graph's closing brace"}));

}  // namespace
}  // namespace skiff
