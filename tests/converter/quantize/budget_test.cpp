// Nets in which ranges by min-max lose, and what budgets make of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "convert.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "quantize/quantizer.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

constexpr int kBlocks = 8;
constexpr int kUnevenBlock = 3;

/// As MobileNetV3 has them: a wide product, one by channel, a narrow one, h-swish between, a residual sum.
std::string Text() {
  std::string text = R"(graph mobile {
  input x: f32[1, 8, 8, 3]
  const stem.w: f32[16, 3, 3, 3] = seed 1
  stem: f32[1, 8, 8, 16] = Conv2d(x, stem.w, _) {pads=[1, 1, 1, 1]}
  sum0: f32[1, 8, 8, 16] = HardSwish(stem)
)";
  for (int i = 1; i <= kBlocks; ++i)
    text += fmt::format(R"(  const wide{0}.w: f32[32, 1, 1, 16] = seed {1}
  const depth{0}.w: f32[32, 3, 3, 1] = seed {2}
  const narrow{0}.w: f32[16, 1, 1, 32] = seed {3}
  wide{0}: f32[1, 8, 8, 32] = Conv2d(sum{4}, wide{0}.w, _)
  wide{0}.act: f32[1, 8, 8, 32] = HardSwish(wide{0})
  depth{0}: f32[1, 8, 8, 32] = Conv2d(wide{0}.act, depth{0}.w, _) {{pads=[1, 1, 1, 1], groups=32}}
  depth{0}.act: f32[1, 8, 8, 32] = HardSwish(depth{0})
  narrow{0}: f32[1, 8, 8, 16] = Conv2d(depth{0}.act, narrow{0}.w, _)
  sum{0}: f32[1, 8, 8, 16] = Add(sum{4}, narrow{0})
)",
                        i, 3 * i + 1, 3 * i + 2, 3 * i + 3, i - 1);
  return text + fmt::format(R"(  const last.w: f32[10, 16] = seed 90
  pooled: f32[1, 1, 1, 16] = ReduceMean(sum{0}) {{axes=[1, 2]}}
  flat: f32[1, 16] = Flatten(pooled)
  y: f32[1, 10] = FullyConnected(flat, last.w, _)
  output y
}}
)",
                            kBlocks);
}

/// One channel of a depthwise convolution is four hundred times as large as the others, and what reads it
/// makes up for that. H-swish is between, so that no factor can be moved from one to the other.
Graph MobileNet() {
  Graph graph = ParseGraph(Text());
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    if (node.op != OpCode::kConv2d && node.op != OpCode::kFullyConnected) continue;
    const TensorData& data = *graph.value(node.inputs[1]).constant;
    const int64_t row = data.elements() / data.shape()[0];
    TensorData scaled(DType::kF32, data.shape(), data.data());
    auto* numbers = static_cast<float*>(scaled.mutable_data());
    for (int64_t i = 0; i < data.elements(); ++i) {
      numbers[i] *= 2 / std::sqrt(static_cast<float>(row));  // As large a result as the input.
      constexpr float kLarge = 400;
      if (node.name == fmt::format("depth{}", kUnevenBlock) && i / row == 0) numbers[i] *= kLarge;
      if (node.name == fmt::format("narrow{}", kUnevenBlock) && i % row == 0) numbers[i] /= kLarge;
    }
    graph.SetInput(id, 1, graph.AddConstant(node.name + ".scaled", scaled));
  }
  return graph;
}

std::vector<NamedTensors> Calls(const Graph& graph) {
  std::vector<NamedTensors> calls;
  for (uint32_t seed = 1; seed <= 16; ++seed) calls.push_back(RandomInputs(graph, seed));
  return calls;
}

uint64_t BytesOf(const Graph& graph) { return ConvertGraph(graph)->file.size(); }

QuantizeOptions Options() {
  QuantizeOptions options;
  options.threads = 1;
  options.measure = ErrorMeasure::kRms;
  options.bytes_of = BytesOf;
  return options;
}

size_t CountOf(const QuantizeResult& result, Format format) {
  return static_cast<size_t>(
      std::count_if(result.layers.begin(), result.layers.end(),
                    [&](const QuantizedLayer& layer) { return layer.format == format; }));
}

/// A tenth of the layers is what the search may leave float.
TEST(Budget, GetsBackWhatMinMaxLosesWithATenthOfTheLayersFloat) {
  const Graph net = MobileNet();
  const std::vector<NamedTensors> calls = Calls(net);
  QuantizeOptions options = Options();
  options.equalize = false;
  options.weights.correct_bias = false;
  options.weights.rounding = WeightRounding::kNearest;
  options.weights.scales = WeightScales::kLargest;
  const double plain = *QuantizeGraph(net, calls, options).cost.error;

  options = Options();
  options.max_error = plain / 3;
  const QuantizeResult searched = QuantizeGraph(net, calls, options);
  EXPECT_TRUE(searched.within_budget);
  EXPECT_LE(*searched.cost.error, plain / 3);
  EXPECT_GT(searched.layers.size(), 40u);
  EXPECT_GT(CountOf(searched, Format::kFloat), 0u);
  EXPECT_LE(CountOf(searched, Format::kFloat), searched.layers.size() / 10);
  for (const QuantizedLayer& layer : searched.layers) {
    if (layer.format == Format::kFloat) {
      EXPECT_NE(layer.name.find(fmt::format("{}", kUnevenBlock)), std::string::npos) << layer.name;
    }
  }
  EXPECT_EQ(BytesOf(QuantizeGraph(net, calls, options).graph), BytesOf(searched.graph));
}

TEST(Budget, OfBytesLeavesFloatWhatCostsMost) {
  const Graph net = MobileNet();
  const std::vector<NamedTensors> calls = Calls(net);
  QuantizeOptions options = Options();
  options.everything = true;
  const QuantizeResult all = QuantizeGraph(net, calls, options);
  const uint64_t bytes = BytesOf(all.graph);
  options.max_bytes = bytes + 6000;
  const QuantizeResult searched = QuantizeGraph(net, calls, options);
  EXPECT_TRUE(searched.within_budget);
  EXPECT_LE(*searched.cost.bytes, *options.max_bytes);
  EXPECT_EQ(*searched.cost.bytes, BytesOf(searched.graph));
  EXPECT_GT(CountOf(searched, Format::kFloat), 0u);
  EXPECT_LT(*searched.cost.error, *all.cost.error);
}

TEST(Budget, OfBytesMakesWeightsNarrowerThatCostLeast) {
  const std::string text = R"(graph dense {
  input x: f32[1, 64]
  const w: f32[256, 64] = seed 1
  const v: f32[256, 256] = seed 2
  const u: f32[64, 256] = seed 3
  a: f32[1, 256] = FullyConnected(x, w, _) {min=0}
  b: f32[1, 256] = FullyConnected(a, v, _) {min=0}
  y: f32[1, 64] = FullyConnected(b, u, _)
  output y
}
)";
  const Graph net = ParseGraph(text);
  const std::vector<NamedTensors> calls = Calls(net);
  QuantizeOptions options = Options();
  options.format = Format::kWeights8;
  const QuantizeResult all = QuantizeGraph(net, calls, options);
  options.max_bytes = BytesOf(all.graph) - 12000;
  const QuantizeResult searched = QuantizeGraph(net, calls, options);
  EXPECT_TRUE(searched.within_budget);
  EXPECT_LE(BytesOf(searched.graph), *options.max_bytes);
  EXPECT_GE(CountOf(searched, Format::kWeights4), 1u);
  EXPECT_LT(CountOf(searched, Format::kWeights4), 3u);
  EXPECT_GT(searched.trail.back().narrowed, 0u);

  options.max_bytes = 1000;
  const QuantizeResult none = QuantizeGraph(net, calls, options);
  EXPECT_FALSE(none.within_budget);
  EXPECT_EQ(CountOf(none, Format::kWeights4), 3u);
}

/// The clock is made up: a layer that is left float costs a millisecond.
TEST(Budget, OfTimeIsKeptWithAsMuchFloatAsItAllows) {
  const Graph net = MobileNet();
  const std::vector<NamedTensors> calls = Calls(net);
  QuantizeOptions options = Options();
  options.everything = true;
  const auto floats = [](const Graph& graph) {
    double count = 0;
    for (NodeId id = 0; id < graph.node_count(); ++id) {
      const Node& node = graph.node(id);
      if (!node.removed && node.op == OpCode::kConv2d) count += graph.value(node.inputs[1]).constant ? 1 : 0;
    }
    return count;
  };
  options.milliseconds_of = floats;
  options.max_ms = 3;
  const QuantizeResult searched = QuantizeGraph(net, calls, options);
  EXPECT_TRUE(searched.within_budget);
  EXPECT_EQ(*searched.cost.milliseconds, floats(searched.graph));
  EXPECT_EQ(*searched.cost.milliseconds, 3);
}

TEST(Budget, OfAScoreIsWhatIsLostToTheFloatNet) {
  const Graph net = MobileNet();
  const std::vector<NamedTensors> calls = Calls(net);
  QuantizeOptions options = Options();
  int asked = 0;
  // 90 for the float net, 1 less for each value that is rounded.
  options.score_of = [&](const Graph& graph) {
    ++asked;
    double score = 90;
    for (NodeId id = 0; id < graph.node_count(); ++id)
      score -= !graph.node(id).removed && graph.node(id).op == OpCode::kQuantize ? 1 : 0;
    return score;
  };
  options.max_error = 20;
  const QuantizeResult searched = QuantizeGraph(net, calls, options);
  EXPECT_TRUE(searched.within_budget);
  EXPECT_EQ(*searched.float_score, 90);
  EXPECT_LE(*searched.cost.error, 20);
  EXPECT_GT(*searched.cost.error, 0);
  EXPECT_LT(asked, 50);  // Not for each layer alone.
}

}  // namespace
}  // namespace skiff::testing
