// Channels that become even, in nets that stay what they were.
#include "quantize/equalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "quantize/quantizer.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// An inverted residual block between two convolutions; the depthwise one has channels that are a hundredfold
/// apart.
const std::string kBlock = R"(graph block {
  input x: f32[1, 8, 8, 3]
  const w1: f32[12, 1, 1, 3] = seed 1
  const b1: f32[12] = [100, 1, 0.01, 5, 20, 0.5, 2, 0.02, 7, 0.1, 50, 3]
  const w2: f32[12, 3, 3, 1] = seed 2
  const w3: f32[12, 1, 1, 12] = seed 3
  const w4: f32[4, 1, 1, 12] = seed 4
  expand: f32[1, 8, 8, 12] = Conv2d(x, w1, b1) {min=0}
  depthwise: f32[1, 8, 8, 12] = Conv2d(expand, w2, _) {pads=[1, 1, 1, 1], groups=12, min=0}
  project: f32[1, 8, 8, 12] = Conv2d(depthwise, w3, _)
  sum: f32[1, 8, 8, 12] = Add(expand, project)
  last: f32[1, 8, 8, 4] = Conv2d(sum, w4, _)
  output last
}
)";

Graph Typed(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferShapes(graph);
  return graph;
}

Observations Observe(const Graph& graph) {
  Observations observations;
  EvaluateOptions options;
  options.observe = [&](ValueId value, const TensorData& tensor) {
    const int rank = tensor.shape().rank();
    observations[value].Add({tensor.as<float>(), static_cast<size_t>(tensor.elements())},
                            tensor.shape()[rank - 1]);
  };
  for (uint32_t seed = 1; seed < 5; ++seed) Evaluate(graph, RandomInputs(graph, seed), options);
  return observations;
}

/// The largest channel by the smallest, of a value.
double Unevenness(const Graph& graph, const std::string& value) {
  const Observations observations = Observe(graph);
  const std::vector<float>& largest = observations.at(graph.FindValue(value)).channel_largest();
  const auto [least, most] = std::minmax_element(largest.begin(), largest.end());
  return static_cast<double>(*most / *least);
}

TEST(EqualizeChannels, ChangesNoResult) {
  const Graph before = Typed(kBlock);
  Graph graph = before;
  EXPECT_GT(EqualizeChannels(graph, Observe(graph)), 0);
  OutputError error;
  for (uint32_t seed = 50; seed < 53; ++seed) {
    const NamedTensors inputs = RandomInputs(before, seed);
    error.Add(Evaluate(before, inputs), Evaluate(graph, inputs));
  }
  EXPECT_LT(error.Of(ErrorMeasure::kLargest), 1e-6);
}

TEST(EqualizeChannels, GroupsWhatIsSummed) {
  const std::vector<EvenGroup> groups = FindGroups(Typed(kBlock));
  ASSERT_EQ(groups.size(), 2u);
  const auto& sum = groups[0].from.size() == 2 ? groups[0] : groups[1];
  EXPECT_EQ(sum.from.size(), 2u);    // expand, project
  EXPECT_EQ(sum.values.size(), 3u);  // and their sum
  EXPECT_EQ(sum.to.size(), 2u);      // depthwise, last
}

TEST(EqualizeChannels, MakesRangesEven) {
  Graph graph = Typed(kBlock);
  const double expand = Unevenness(graph, "expand");
  const double depthwise = Unevenness(graph, "depthwise");
  EXPECT_GT(depthwise, 20);
  EqualizeChannels(graph, Observe(graph));
  EXPECT_LT(Unevenness(graph, "expand"), 0.5 * expand);
  EXPECT_LT(Unevenness(graph, "depthwise"), 0.5 * depthwise);
}

TEST(EqualizeChannels, OnlyBetweenDepthwiseConvolutionsTheyBecomeEqual) {
  const std::string chain = R"(graph chain {
  input x: f32[1, 8, 8, 3]
  const w1: f32[6, 1, 1, 3] = seed 1
  const b1: f32[6] = [9, 3, 1, 2, 4, 0.5]
  const w2: f32[6, 3, 3, 1] = seed 2
  a: f32[1, 8, 8, 6] = Conv2d(x, w1, b1) {min=0}
  y: f32[1, 6, 6, 6] = Conv2d(a, w2, _) {groups=6}
  output y
}
)";
  Graph graph = Typed(chain);
  EXPECT_EQ(EqualizeChannels(graph, Observe(graph)), 1);
  EXPECT_NEAR(Unevenness(graph, "a"), 1, 1e-5);
}

/// Nobody knows how large it is in the next call.
TEST(EqualizeChannels, DoesNotWidenAChannelThatWasNeverSeen) {
  Graph graph = Typed(R"(graph dead {
  input x: f32[1, 4, 4, 1]
  const w1: f32[3, 1, 1, 1] = [1, 1, 1]
  const b1: f32[3] = [0, -100, -0.9]
  const w2: f32[3, 1, 1, 1] = [1, 1, 1]
  a: f32[1, 4, 4, 3] = Conv2d(x, w1, b1) {min=0}
  y: f32[1, 4, 4, 3] = Conv2d(a, w2, _) {groups=3}
  output y
}
)");
  EXPECT_EQ(EqualizeChannels(graph, Observe(graph)), 1);
  const Node& first = graph.node(graph.value(graph.FindValue("a")).producer);
  const std::vector<double> weights = graph.value(first.inputs[1]).constant->ToDoubles();
  EXPECT_NEAR(weights[0], 1, 0.1);
  EXPECT_NEAR(weights[1], 1, 0.1);
  EXPECT_GT(weights[2], 5);
}

/// Channels that stay below the bound become as large as it; those that reach it stay what they are.
TEST(EqualizeChannels, WithinABoundChangeNoResult) {
  const Graph before = Typed(R"(graph bounded {
  input x: f32[1, 8, 8, 3]
  const w1: f32[6, 1, 1, 3] = seed 1
  const b1: f32[6] = [9, 3, 0.1, 2, 0.4, 0.02]
  const w2: f32[6, 3, 3, 1] = seed 2
  const w3: f32[4, 1, 1, 6] = seed 3
  a: f32[1, 8, 8, 6] = Conv2d(x, w1, b1) {min=0, max=6}
  b: f32[1, 6, 6, 6] = Conv2d(a, w2, _) {groups=6, min=0, max=6}
  y: f32[1, 6, 6, 4] = Conv2d(b, w3, _)
  output y
}
)");
  Graph graph = before;
  const Observations seen = Observe(before);
  EXPECT_EQ(EqualizeChannels(graph, seen), 2);
  const std::vector<float> now = Observe(graph).at(graph.FindValue("a")).channel_largest();
  const std::vector<float>& old = seen.at(before.FindValue("a")).channel_largest();
  EXPECT_EQ(old[0], 6);
  for (size_t c = 0; c < now.size(); ++c) EXPECT_NEAR(now[c], 6, 1e-4) << c << " was " << old[c];
  OutputError error;
  for (uint32_t seed = 1; seed < 5; ++seed) {
    const NamedTensors inputs = RandomInputs(before, seed);
    error.Add(Evaluate(before, inputs), Evaluate(graph, inputs));
  }
  EXPECT_LT(error.Of(ErrorMeasure::kLargest), 1e-6);
}

TEST(EqualizeChannels, LeavesAloneWhatSomebodyElseReads) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  // An activation that moves a multiple elsewhere, an output of the graph, a function of another kind.
  EXPECT_EQ(
      FindGroups(Typed(replaced(kBlock, "Conv2d(x, w1, b1) {min=0}", "Conv2d(x, w1, b1) {min=1}"))).size(),
      1u);
  EXPECT_EQ(FindGroups(Typed(replaced(kBlock, "output last", "output last\n  output sum"))).size(), 1u);
  EXPECT_EQ(
      FindGroups(Typed(replaced(kBlock, "output last",
                                "other: f32[1, 8, 8, 12] = Tanh(depthwise)\n  output last\n  output other")))
          .size(),
      1u);
}

/// The same net with channels three decimal places apart, as batch normalisations leave them.
Graph Uneven(Graph graph) {
  const auto factor = [](int64_t channel) {
    return static_cast<float>(std::pow(10.0, static_cast<double>(channel % 4) - 1.5));
  };
  const auto scale = [&](NodeId id, int input, bool reads) {
    const TensorData data = *graph.value(graph.node(id).inputs[static_cast<size_t>(input)]).constant;
    const Shape& shape = data.shape();
    const int64_t inner = shape[shape.rank() - 1];
    const int64_t row = data.elements() / shape[0];
    TensorData scaled(DType::kF32, shape, data.data());
    auto* numbers = static_cast<float*>(scaled.mutable_data());
    for (int64_t i = 0; i < data.elements(); ++i)
      numbers[i] *= reads ? 1 / factor(inner == 1 ? i / row : i % inner) : factor(i / row);
    graph.SetInput(id, input, graph.AddConstant("", scaled));
  };
  for (const EvenGroup& group : FindGroups(graph)) {
    for (const NodeId id : group.from) {
      scale(id, 1, false);
      if (graph.node(id).inputs.size() > 2 && graph.node(id).inputs[2] != kNoValue) scale(id, 2, false);
    }
    for (const NodeId id : group.to) scale(id, 1, true);
  }
  return graph;
}

/// What one scale for a tensor loses, this gets back.
TEST(EqualizeChannels, IsWhatUnevenNetsNeed) {
  QuantizeOptions options;
  options.everything = true;
  const Graph even = Typed(kBlock);
  const Graph uneven = Uneven(even);
  std::vector<NamedTensors> calls;
  for (uint32_t seed = 1; seed < 9; ++seed) calls.push_back(RandomInputs(even, seed));
  const double best = *QuantizeGraph(even, calls, options).cost.error;
  const double with = *QuantizeGraph(uneven, calls, options).cost.error;
  options.equalize = false;
  const double without = *QuantizeGraph(uneven, calls, options).cost.error;
  // Between dense products channels become half as uneven only, in decimal places.
  EXPECT_LT(with, 3 * best);
  EXPECT_GT(without, 3 * with);
}

}  // namespace
}  // namespace skiff::testing
