// Whole nets: what becomes integers, how far results are off, and what is refused.
#include "quantize/quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "convert.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

std::vector<NamedTensors> Calls(const std::string& net, size_t count) {
  const Graph graph = ParseGraph(net);
  std::vector<NamedTensors> calls;
  for (size_t i = 0; i < count; ++i) calls.push_back(RandomInputs(graph, static_cast<uint32_t>(i + 1)));
  return calls;
}

QuantizeOptions Everything() {
  QuantizeOptions options;
  options.everything = true;
  return options;
}

QuantizeResult Quantize(const std::string& net, const QuantizeOptions& options = Everything(),
                        size_t calls = 8) {
  return QuantizeGraph(ParseGraph(net), Calls(net, calls), options);
}

/// On inputs that calibration did not see, by the eager interpreter.
double FreshError(const std::string& net, const Graph& quantized, ErrorMeasure measure = ErrorMeasure::kRms) {
  const Graph source = ParseGraph(net);
  OutputError error;
  for (uint32_t seed = 100; seed < 104; ++seed) {
    const NamedTensors inputs = RandomInputs(source, seed);
    error.Add(Evaluate(source, inputs), Evaluate(quantized, inputs));
  }
  return error.Of(measure);
}

std::map<std::string, DType> ResultsByName(const Graph& graph) {
  std::map<std::string, DType> types;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (!node.removed) types[node.name] = graph.value(node.outputs[0]).dtype;
  }
  return types;
}

int CountOf(const Graph& graph, OpCode op) {
  int count = 0;
  for (NodeId id = 0; id < graph.node_count(); ++id)
    count += !graph.node(id).removed && graph.node(id).op == op;
  return count;
}

/// Whatever the net calls its outputs.
TEST(Quantizer, ObservesNoOutputOfTheCallersInsteadOfAValue) {
  const auto error_of = [](const Graph& graph) {
    std::vector<NamedTensors> calls;
    for (uint32_t seed = 1; seed <= 8; ++seed) calls.push_back(RandomInputs(graph, seed));
    return QuantizeGraph(graph, calls, Everything()).cost.error.value();
  };
  Graph graph = ParseGraph(kSmallNet);
  for (const char* output : {"pooled", "pooled+"}) graph.AddOutput(output, graph.FindValue("pooled"));
  const double expected = error_of(graph);
  Graph named = ParseGraph(kSmallNet);
  for (const char* output : {"sum.wanted", "sum.wanted+"}) named.AddOutput(output, named.FindValue("pooled"));
  EXPECT_EQ(error_of(named), expected);
}

/// What a net with variables computes depends on the calls before.
TEST(Quantizer, ComparesCallsOfNetsWithStateInTheirOrder) {
  Graph graph = ParseGraph(R"(graph recurrent {
    input h: f32[1, 8]
    input x: f32[1, 8]
    const w: f32[8, 8] = seed 1
    const u: f32[8, 8] = seed 2
    of_x: f32[1, 8] = FullyConnected(x, w, _)
    of_h: f32[1, 8] = FullyConnected(h, u, _)
    sum: f32[1, 8] = Add(of_x, of_h)
    next: f32[1, 8] = Tanh(sum)
    y: f32[1, 8] = FullyConnected(next, w, _)
    output next = next
    output y = y
  })");
  graph.MakeVariable(0, 0, {"h", TensorData(DType::kF32, Shape{1, 8})});
  std::vector<NamedTensors> calls;
  for (uint32_t seed = 1; seed <= 100; ++seed) calls.push_back(RandomInputs(graph, seed));
  EXPECT_LT(QuantizeGraph(graph, calls, Everything()).cost.error.value(), 0.1);
}

TEST(Quantizer, MakesIntegersOfTheWholeNet) {
  const QuantizeResult result = Quantize(kSmallNet);
  for (const QuantizedLayer& layer : result.layers) EXPECT_EQ(layer.format, Format::kI8) << layer.name;
  EXPECT_LT(FreshError(kSmallNet, result.graph), 0.03);
  ASSERT_TRUE(result.cost.error);
  EXPECT_LT(*result.cost.error, 0.05);
  EXPECT_GT(*result.cost.error, 0);

  const auto converted = ConvertGraph(result.graph);
  const auto types = ResultsByName(converted->graph);
  for (const char* name : {"stem", "left", "sum", "right", "activated", "joined", "pooled", "scores"}) {
    ASSERT_TRUE(types.contains(name)) << PrintGraph(converted->graph);
    EXPECT_EQ(types.at(name), DType::kI8) << PrintGraph(converted->graph);
  }
  EXPECT_EQ(CountOf(converted->graph, OpCode::kQuantize), 1);
  EXPECT_EQ(CountOf(converted->graph, OpCode::kDequantize), 1);
  EXPECT_EQ(CountOf(converted->graph, OpCode::kRequantize), 0);
}

TEST(Quantizer, FastPlanComputesWhatTheGraphSays) {
  const QuantizeResult result = Quantize(kSmallNet);
  OpenedModel opened(result.graph);
  auto session = std::move(Session::Create(*opened.model).value());
  const NamedTensors inputs = RandomInputs(ParseGraph(kSmallNet), 7);
  ASSERT_TRUE(session->SetInput("image", inputs.at("image").view()).ok());
  ASSERT_TRUE(session->Run().ok());
  const TensorView scores = session->Output("scores").value();
  const TensorData expected = Evaluate(result.graph, inputs).at("scores");
  const double largest = *std::max_element(expected.as<float>(), expected.as<float>() + 10);
  for (int i = 0; i < 10; ++i)
    EXPECT_NEAR(scores.as<const float>()[i], expected.as<float>()[i], 0.02 * largest);
}

TEST(Quantizer, KeepsLayersByName) {
  QuantizeOptions options = Everything();
  options.keep = {"left"};
  const QuantizeResult result = Quantize(kSmallNet, options);
  for (const QuantizedLayer& layer : result.layers) {
    if (layer.name == "left") {
      EXPECT_EQ(layer.why_float, "kept");
    }
    EXPECT_EQ(layer.format == Format::kFloat, layer.name == "left") << layer.name;
  }
  EXPECT_LT(FreshError(kSmallNet, result.graph), 0.03);
  EXPECT_EQ(ResultsByName(ConvertGraph(result.graph)->graph).at("left"), DType::kF32);
}

constexpr const char* kWideNet = R"(graph wide {
  input x: f32[1, 64]
  const w: f32[48, 64] = seed 1
  const v: f32[40, 48] = seed 2
  const b: f32[48] = seed 3
  h: f32[1, 48] = FullyConnected(x, w, b) {min=0}
  y: f32[1, 40] = FullyConnected(h, v, _)
  output y
}
)";

TEST(Quantizer, WeightsAloneNeedNoInputs) {
  const size_t before = ConvertGraph(ParseGraph(kWideNet))->file.size();
  struct Row {
    Format format;
    double bits;
    double error;
  };
  for (const Row& row :
       {Row{Format::kF16, 16, 1e-3}, Row{Format::kWeights8, 8, 0.01}, Row{Format::kWeights4, 5, 0.15},
        Row{Format::kDynamic, 8, 0.02}, Row{Format::kDynamic4, 5, 0.15}}) {
    SCOPED_TRACE(FormatName(row.format));
    QuantizeOptions options = Everything();
    options.format = row.format;
    const QuantizeResult result = Quantize(kWideNet, options, 0);
    EXPECT_FALSE(result.cost.error);
    EXPECT_GT(FreshError(kWideNet, result.graph), 0);
    EXPECT_LT(FreshError(kWideNet, result.graph), row.error);
    const size_t behind = ConvertGraph(result.graph)->file.size();
    const double weights = 64 * 48 + 48 * 40;
    EXPECT_NEAR(static_cast<double>(before - behind), weights * (32 - row.bits) / 8, 1200);
  }
}

/// The layer in question stays as it is, and says why.
TEST(Quantizer, LeavesWeightsFloatThatAreNotFinite) {
  for (const Format format :
       {Format::kWeights8, Format::kWeights4, Format::kDynamic, Format::kDynamic4, Format::kF16}) {
    SCOPED_TRACE(FormatName(format));
    Graph graph = ParseGraph(kWideNet);
    ValueId broken = kNoValue;
    for (ValueId id = 0; id < graph.value_count() && broken == kNoValue; ++id) {
      if (graph.value(id).constant && graph.value(id).constant->elements() >= 1024) broken = id;
    }
    ASSERT_NE(broken, kNoValue);
    const TensorData& before = *graph.value(broken).constant;
    TensorData numbers(DType::kF32, before.shape(), before.data());
    static_cast<float*>(numbers.mutable_data())[7] = std::numeric_limits<float>::quiet_NaN();
    graph.value(broken).constant = numbers;
    QuantizeOptions options = Everything();
    options.format = format;
    const QuantizeResult result = QuantizeGraph(std::move(graph), {}, options);
    EXPECT_EQ(std::count_if(result.layers.begin(), result.layers.end(),
                            [](const QuantizedLayer& layer) {
                              return layer.format == Format::kFloat &&
                                     layer.why_float == "has NaN or infinities";
                            }),
              1);
    EXPECT_GT(result.layers.size(), 1u);
  }
}

/// With inputs, what four bits lose is chosen where it is not seen.
TEST(Quantizer, WeightsAloneGainByInputs) {
  const std::string net = R"(graph narrow {
  input x: f32[32, 8]
  const w: f32[64, 8] = seed 1
  const v: f32[40, 64] = seed 2
  h: f32[32, 64] = FullyConnected(x, w, _)
  y: f32[32, 40] = FullyConnected(h, v, _)
  output y
}
)";
  QuantizeOptions options = Everything();
  options.format = Format::kWeights4;
  const double without = FreshError(net, Quantize(net, options, 0).graph);
  EXPECT_LT(FreshError(net, Quantize(net, options, 64).graph), 0.6 * without);
}

/// Values of 16 bits add next to nothing to what the weights cost.
TEST(Quantizer, SixteenBitsCostWhatTheirWeightsCost) {
  QuantizeOptions options = Everything();
  options.weights.correct_bias = false;
  options.equalize = false;
  options.format = Format::kWeights8;
  const double weights = FreshError(kWideNet, Quantize(kWideNet, options, 64).graph);
  options.format = Format::k16x8;
  const double words = FreshError(kWideNet, Quantize(kWideNet, options, 64).graph);
  EXPECT_NEAR(words, weights, 0.02 * weights);
  options.format = Format::kI8;
  EXPECT_GT(FreshError(kWideNet, Quantize(kWideNet, options, 64).graph), 1.2 * weights);
}

/// The mean of what a layer gets is far from 0, so that errors of weights do not cancel.
TEST(Quantizer, CorrectsBiases) {
  const std::string net = R"(graph mean {
  input x: f32[4, 256]
  const w: f32[16, 256] = seed 1
  const far: f32[1] = [20]
  added: f32[4, 256] = Add(x, far)
  moved: f32[4, 256] = Clamp(added) {min=0}
  y: f32[4, 16] = FullyConnected(moved, w, _)
  output y
}
)";
  QuantizeOptions options = Everything();
  options.format = Format::k16x8;  // Rounding of the results would hide it.
  options.weights.rounding = WeightRounding::kNearest;
  const double with = FreshError(net, Quantize(net, options).graph);
  options.weights.correct_bias = false;
  const double without = FreshError(net, Quantize(net, options).graph);
  EXPECT_LT(with, 0.2 * without);
}

TEST(Quantizer, LeavesLayersFloatThatHaveInfinities) {
  const std::string net = R"(graph masked {
  input x: f32[1, 8]
  const w: f32[8, 8] = seed 1
  const v: f32[8, 8] = seed 2
  h: f32[1, 8] = FullyConnected(x, w, _)
  l: f32[1, 8] = Log(h)
  y: f32[1, 8] = FullyConnected(l, v, _)
  output y
}
)";
  const QuantizeResult result = Quantize(net);
  ASSERT_EQ(result.layers.size(), 2u);
  EXPECT_EQ(result.layers[0].format, Format::kI8);
  EXPECT_EQ(result.layers[1].why_float, "has NaN or infinities");
}

/// One layer spoils all: the budget is met without that one.
TEST(Quantizer, SearchLeavesWhatCostsMost) {
  const std::string net = R"(graph spoilt {
  input x: f32[1, 64]
  const w: f32[32, 64] = seed 1
  const bias: f32[32] = [1000, -1000, 1000, -1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  const v: f32[32, 32] = seed 2
  const u: f32[16, 32] = seed 3
  wide: f32[1, 32] = FullyConnected(x, w, bias)
  even: f32[1, 32] = Tanh(wide)
  next: f32[1, 32] = FullyConnected(even, v, _) {min=0, max=6}
  y: f32[1, 16] = FullyConnected(next, u, _)
  output y
}
)";
  QuantizeOptions options = Everything();
  const QuantizeResult all = Quantize(net, options);
  options.max_error = *all.cost.error / 3;
  const QuantizeResult searched = Quantize(net, options);
  EXPECT_TRUE(searched.within_budget);
  EXPECT_LE(*searched.cost.error, *options.max_error);
  EXPECT_FALSE(searched.trail.empty());
  for (const QuantizedLayer& layer : searched.layers) {
    EXPECT_TRUE(layer.error_alone) << layer.name;
    EXPECT_EQ(layer.format == Format::kFloat, layer.name == "wide" || layer.name == "even") << layer.name;
  }
  options.max_error = 0;
  const QuantizeResult none = Quantize(net, options);
  for (const QuantizedLayer& layer : none.layers) EXPECT_EQ(layer.format, Format::kFloat) << layer.name;
}

TEST(Quantizer, MeasuresLayersForItsReport) {
  QuantizeOptions options = Everything();
  options.measure_layers = true;
  const QuantizeResult result = Quantize(kSmallNet, options);
  for (const QuantizedLayer& layer : result.layers) {
    SCOPED_TRACE(layer.name);
    if (layer.format != Format::kI8) continue;
    ASSERT_TRUE(layer.error_alone && layer.error_without && layer.signal_to_noise && layer.range);
    EXPECT_GT(*layer.signal_to_noise, 20);
    EXPECT_LT(*layer.error_alone, 0.05);
    int64_t all = 0;
    for (const int64_t count : layer.results.counts) all += count;
    EXPECT_GT(all, 0);
    EXPECT_LE(layer.bytes, layer.bytes_before);
  }
}

/// The last result has one large element, beside which rounding leaves little of the others.
TEST(Quantizer, LastResultsStayFloatWhereThatIsMuchBetter) {
  const std::string net = R"(graph ends {
  input x: f32[1, 64]
  const w: f32[64, 64] = seed 1
  const v: f32[2, 64] = seed 2
  const far: f32[2] = [0, 3000]
  const two: i64[2] = [1, 2]
  h: f32[1, 64] = FullyConnected(x, w, _) {min=0}
  y: f32[1, 2] = FullyConnected(h, v, far)
  a: f32[1, 1], b: f32[1, 1] = Split(y) {axis=1, parts=2}
  output a
}
)";
  QuantizeOptions options;
  const QuantizeResult chosen = Quantize(net, options);
  const QuantizeResult all = Quantize(net);
  EXPECT_EQ(all.layers.back().format, Format::kI8);
  EXPECT_EQ(chosen.layers.back().format, Format::kWeights8);
  EXPECT_EQ(chosen.layers.front().format, Format::kI8);
  EXPECT_THAT(chosen.notes, ::testing::ElementsAre(HasSubstr("'y'")));
  EXPECT_LT(*chosen.cost.error, 0.5 * *all.cost.error);
  // What is before the last product stays integers.
  EXPECT_EQ(ResultsByName(ConvertGraph(chosen.graph)->graph).at("h"), DType::kI8);
}

/// A spectrum's small numbers count as much as its large ones; the logarithm of a softmax is another matter.
TEST(Quantizer, KeepsHalvesInFrontOfLogarithms) {
  const std::string net = R"(graph spectrum {
  input x: f32[1, 64]
  const dft: f32[64, 64] = seed 1
  const w: f32[64, 64] = seed 2
  const little: f32[1] = [0.001]
  transformed: f32[1, 64] = FullyConnected(x, dft, _)
  power: f32[1, 64] = Mul(transformed, transformed)
  more: f32[1, 64] = Add(power, little)
  logs: f32[1, 64] = Log(more)
  scores: f32[1, 64] = FullyConnected(logs, w, _)
  shares: f32[1, 64] = Softmax(scores) {axis=1}
  y: f32[1, 64] = Log(shares)
  output y
}
)";
  for (const Format format : {Format::kI8, Format::kWeights8}) {
    QuantizeOptions options;
    options.format = format;
    std::map<std::string, Format> formats;
    for (const QuantizedLayer& layer : Quantize(net, options).layers) formats[layer.name] = layer.format;
    EXPECT_EQ(formats.at("transformed"), Format::kF16);
    EXPECT_TRUE(formats.at("scores") == Format::kWeights8 || formats.at("scores") == format);
  }
}

TEST(Quantizer, IsDeterministic) {
  EXPECT_EQ(ConvertGraph(Quantize(kSmallNet).graph)->file, ConvertGraph(Quantize(kSmallNet).graph)->file);
}

std::string Refusal(const std::string& net, const QuantizeOptions& options = {}, size_t calls = 1) {
  try {
    Quantize(net, options, calls);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Quantizer, SaysWhatItDoesNotTake) {
  QuantizeOptions keep;
  keep.keep = {"lefd"};
  EXPECT_THAT(Refusal(kSmallNet, keep),
              HasSubstr("--keep lefd: the net has no layer of this name (did you mean 'left'?)"));
  EXPECT_THAT(Refusal(kSmallNet, Everything(), 0), HasSubstr("--calibrate"));
  EXPECT_THAT(Refusal("graph g {\n input x: f32[2]\n y = Neg(x)\n output y\n}\n"),
              HasSubstr("nothing to quantise"));
  EXPECT_THAT(Refusal("graph g {\n input x: f32[2]\n q: i8[2] {scale=0.5} = Quantize(x)\n y = "
                      "Dequantize(q)\n output y\n}\n"),
              HasSubstr("quantised already"));
}

}  // namespace
}  // namespace skiff::testing
