// Ranges that depend on each other: terms of clamped sums, and values that share codes.
#include "quantize/value_ranges.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace skiff::testing {
namespace {

Ranges Limited(const std::string& sum) {
  const Graph graph = ParseGraph(R"(graph sum {
  input x: f32[1, 4]
  const w: f32[4, 4] = seed 1
  const v: f32[4, 4] = seed 2
  a: f32[1, 4] = FullyConnected(x, w, _)
  b: f32[1, 4] = FullyConnected(x, v, _) {min=0}
  y: f32[1, 4] = )" + sum + R"(
  output y
  output b
}
)");
  Ranges ranges = {
      {graph.FindValue("a"), {-20, 30}}, {graph.FindValue("b"), {0, 5}}, {graph.FindValue("y"), {0, 7}}};
  LimitTerms(graph, ranges);
  return {{0, ranges.at(graph.FindValue("a"))}, {1, ranges.at(graph.FindValue("b"))}};
}

/// A caller reads b, which therefore keeps its range.
TEST(ValueRanges, OfATermEndWhereAClampHidesItsNumbers) {
  const Ranges relu = Limited("Add(a, b) {min=0}");
  EXPECT_EQ(relu.at(0), (Range{-5, 30}));
  EXPECT_EQ(relu.at(1), (Range{0, 5}));
  EXPECT_EQ(Limited("Add(b, a) {min=0, max=6}").at(0), (Range{-5, 6}));
}

TEST(ValueRanges, OfATermStayWhereNothingIsHidden) {
  EXPECT_EQ(Limited("Add(a, b)").at(0), (Range{-20, 30}));
  EXPECT_EQ(Limited("Sub(a, b) {min=0}").at(0), (Range{-20, 30}));
}

/// What a product reads behind a Concat is of one scale; behind the last products, heads keep their own.
TEST(ValueRanges, AreSharedByWhatIsJoinedForAProduct) {
  const std::string joined = R"(graph joined {
  input x: f32[1, 4]
  const w: f32[4, 4] = seed 1
  const v: f32[4, 4] = seed 2
  const u: f32[2, 8] = seed 3
  a: f32[1, 4] = FullyConnected(x, w, _)
  b: f32[1, 4] = FullyConnected(x, v, _)
  y: f32[1, 8] = Concat(a, b) {axis=1}
)";
  for (const bool read : {true, false}) {
    const Graph graph = ParseGraph(
        joined + (read ? "  z: f32[1, 2] = FullyConnected(y, u, _)\n  output z\n}\n" : "  output y\n}\n"));
    FormatPlan plan;
    for (const Layer& layer : FindLayers(graph, Format::kI8)) plan[layer.node] = layer.format;
    Ranges ranges = {{graph.FindValue("a"), {-500, 3}}, {graph.FindValue("b"), {-1, 4}}};
    ShareRanges(graph, plan, ranges);
    EXPECT_EQ(ranges.at(graph.FindValue("a")), (read ? Range{-500, 4} : Range{-500, 3}));
    EXPECT_EQ(ranges.at(graph.FindValue("b")), (read ? Range{-500, 4} : Range{-1, 4}));
  }
}

}  // namespace
}  // namespace skiff::testing
