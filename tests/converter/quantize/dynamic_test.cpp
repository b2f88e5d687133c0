// Products whose inputs become codes at run time: which nodes read codes, and that nothing else is computed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "delegates/xnnpack/build.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "quantize/quantizer.h"
#include "tests/support/tiny_models.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

/// All kinds: windows over a picture and over its pixels, with and without strides, a batch, groups (which
/// compute on floats), rows that two products share, and a result that is an output as well.
constexpr const char* kNet = R"(graph net {
  input image: f32[N, 12, 12, 8]
  const w0: f32[24, 3, 3, 8] = seed 1
  const b0: f32[24] = seed 2
  const w1: f32[64, 1, 1, 24] = seed 3
  const w2: f32[32, 3, 3, 64] = seed 4
  const w3: f32[32, 3, 3, 32] = seed 5
  const w4: f32[40, 32] = seed 6
  const w5: f32[40, 32] = seed 7
  const b5: f32[40] = seed 8
  a: f32[N, 12, 12, 24] = Conv2d(image, w0, b0) {pads=[1, 1, 1, 1], min=0}
  b: f32[N, 12, 12, 64] = Conv2d(a, w1, _) {min=0, max=6}
  c: f32[N, 6, 6, 32] = Conv2d(b, w2, _) {strides=[2, 2], auto_pad=same_upper}
  d: f32[N, 6, 6, 32] = Conv2d(c, w3, _) {pads=[1, 1, 1, 1]}
  e: f32[N, 32] = ReduceMean(d) {axes=[1, 2], keep_dims=false}
  f: f32[N, 40] = FullyConnected(e, w4, _)
  g: f32[N, 40] = FullyConnected(e, w5, b5)
  output f
  output g
  output d
}
)";

/// Products that compute on codes on every CPU.
constexpr const char* kRows = R"(graph rows {
  input x: f32[N, 12, 12, 24]
  const w0: f32[64, 1, 1, 24] = seed 1
  const w1: f32[40, 64] = seed 2
  const w2: f32[40, 64] = seed 3
  const b2: f32[40] = seed 4
  a: f32[N, 12, 12, 64] = Conv2d(x, w0, _) {min=0}
  e: f32[N, 64] = ReduceMean(a) {axes=[1, 2], keep_dims=false}
  f: f32[N, 40] = FullyConnected(e, w1, _)
  g: f32[N, 40] = FullyConnected(e, w2, b2)
  output f
  output g
}
)";

/// Weights of other codes than those around 0: of u8, with one zero point or several, and of i8. More outputs
/// than fill a panel of the kernels, inputs that do not fill a word, and rows of one scale or each of its
/// own.
constexpr const char* kZeroPoints = R"(graph zero_points {
  input x: f32[N, 7, 63]
  const one: u8[131, 63] {scale=0.02, zero_point=97} = seed 1
  const each: u8[3, 63] {scale=[0.02, 0.5, 0.003], zero_point=[0, 255, 128], axis=0} = seed 2
  const i8: i8[131, 63] {scale=0.01, zero_point=-128} = seed 3
  const middle: u8[40, 63] {scale=0.02, zero_point=128} = seed 4
  const b: f32[131] = seed 5
  a = FakeQuantize(x) {axis=2}
  c = FakeQuantize(x) {axis=0}
  one_real = Dequantize(one)
  each_real = Dequantize(each)
  i8_real = Dequantize(i8)
  middle_real = Dequantize(middle)
  p: f32[N, 7, 131] = FullyConnected(a, one_real, b) {min=-1, max=20}
  q: f32[N, 7, 3] = FullyConnected(a, each_real)
  r: f32[N, 7, 131] = FullyConnected(c, i8_real)
  s: f32[N, 7, 40] = FullyConnected(c, middle_real) {min=0}
  t = Silu(r)
  output p
  output q
  output s
  output t
}
)";

/// Windows: with strides, dilations, pads on some sides, of one line, over all of a picture; one scale for
/// all pictures, or each its own; more outputs than a panel has, and fewer than a vector.
constexpr const char* kWindows = R"(graph windows {
  input x: f32[N, 13, 17, 5]
  const one: u8[71, 3, 3, 5] {scale=0.02, zero_point=97} = seed 1
  const each: u8[3, 5, 5, 5] {scale=[0.02, 0.5, 0.003], zero_point=[0, 255, 128], axis=0} = seed 2
  const i8: i8[70, 3, 2, 5] {scale=0.01, zero_point=-128} = seed 3
  const line: u8[40, 1, 9, 5] {scale=0.02, zero_point=131} = seed 4
  const all: i8[21, 13, 17, 5] {scale=0.02, zero_point=5} = seed 5
  const b: f32[71] = seed 6
  a = FakeQuantize(x) {axis=1}
  c = FakeQuantize(x) {axis=0}
  one_real = Dequantize(one)
  each_real = Dequantize(each)
  i8_real = Dequantize(i8)
  line_real = Dequantize(line)
  all_real = Dequantize(all)
  p: f32[N, 13, 17, 71] = Conv2d(a, one_real, b) {pads=[1, 1, 1, 1], min=-1, max=20}
  q: f32[N, 5, 7, 3] = Conv2d(a, each_real, _) {strides=[2, 2], pads=[0, 1, 0, 0]}
  r: f32[N, 9, 14, 70] = Conv2d(c, i8_real, _) {dilations=[2, 3]}
  s: f32[N, 13, 17, 40] = Conv2d(c, line_real, _) {pads=[0, 4, 0, 4], min=0}
  t: f32[N, 1, 1, 21] = Conv2d(a, all_real, _)
  u = Silu(r)
  output p
  output q
  output s
  output t
  output u
}
)";

Graph Dynamic(const char* net) {
  Graph graph = ParseGraph(net);
  QuantizeOptions options;
  options.format = Format::kDynamic;
  return QuantizeGraph(std::move(graph), {}, options).graph;
}

NamedTensors Batch(int64_t size, uint32_t seed) {
  return {{"image", RandomTensor(DType::kF32, {size, 12, 12, 8}, seed)}};
}

void ExpectNear(const NamedTensors& got, const NamedTensors& expected) {
  for (const auto& [name, tensor] : expected) {
    const Difference difference = Compare(got.at(name), tensor);
    // A number next to half way between two codes may go either way, a step of 255 from end to end.
    EXPECT_LT(difference.difference, difference.largest / 255) << name;
  }
}

/// Threads share its work, however small it is.
std::unique_ptr<Session> SharedAmong(int threads, const OpenedModel& opened) {
  SessionOptions options;
  options.threads = threads;
  options.thread_small_work = true;
  return std::move(Session::Create(*opened.model, options).value());
}

/// But for the order of sums of floats, on the delegate.
void ExpectSums(Session& session, const Graph& graph, const NamedTensors& inputs) {
  const NamedTensors results = RunSession(session, inputs);
  for (const auto& [name, tensor] : Evaluate(graph, inputs)) {
    const Difference difference = Compare(results.at(name), tensor);
    EXPECT_LT(difference.difference, 2e-6 * difference.largest) << name;
  }
  for (int i = 0; i < session.node_count(); ++i)
    EXPECT_FALSE(session.node(i).fell_back) << session.node(i).name;
}

TEST(Dynamic, ComputesWhatTheGraphSays) {
  const Graph graph = Dynamic(kNet);
  OpenedModel opened(graph);
  for (const int threads : {1, 2}) {
    const auto session = SharedAmong(threads, opened);
    for (const int64_t batch : {1, 3, 2}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, batch " << batch);
      ExpectNear(RunSession(*session, Batch(batch, 5)), Evaluate(graph, Batch(batch, 5)));
    }
  }
}

/// The second product's rows are no whole blocks, and the convolution meets pixels.
TEST(Dynamic, BlocksOfRowsMeetFourBits) {
  Graph graph = ParseGraph(R"(graph blocks {
    input x: f32[N, 96]
    input image: f32[1, 5, 5, 64]
    const w: f32[40, 96] = seed 1
    const v: f32[70, 40] = seed 2
    const k: f32[24, 1, 1, 64] = seed 3
    h: f32[N, 40] = FullyConnected(x, w, _)
    a: f32[N, 40] = FullyConnected(x, w, _) {min=0}
    y: f32[N, 70] = FullyConnected(h, v, _)
    c: f32[1, 5, 5, 24] = Conv2d(image, k, _)
    output a
    output y
    output c
  })");
  QuantizeOptions options;
  options.format = Format::kDynamic4;
  const QuantizeResult result = QuantizeGraph(std::move(graph), {}, options);
  std::map<std::string, Format> formats;
  for (const QuantizedLayer& layer : result.layers) formats[layer.name] = layer.format;
  EXPECT_EQ(formats, (std::map<std::string, Format>{{"h", Format::kDynamic4},
                                                    {"a", Format::kDynamic4},
                                                    {"y", Format::kWeights4},
                                                    {"c", Format::kWeights4}}));
  int64_t rounded = 0;
  for (const NodeId id : result.graph.TopologicalOrder()) {
    if (result.graph.node(id).op != OpCode::kFakeQuantize) continue;
    ++rounded;
    EXPECT_EQ(result.graph.node(id).As<FakeQuantizeAttrs>().block, 32);
  }
  EXPECT_EQ(rounded, 1);
  OpenedModel opened(result.graph);
  const auto session = SharedAmong(2, opened);
  for (const int64_t rows : {1, 7}) {
    const NamedTensors inputs = {{"x", RandomTensor(DType::kF32, {rows, 96}, 1)},
                                 {"image", RandomTensor(DType::kF32, {1, 5, 5, 64}, 2)}};
    ExpectSums(*session, result.graph, inputs);
  }
}

TEST(Dynamic, RunsOnCodes) {
  const NamedTensors inputs = {{"x", RandomTensor(DType::kF32, {2, 12, 12, 24}, 1)}};
  const Graph graph = Dynamic(kRows);
  OpenedModel opened(graph);
  for (const bool keep : {false, true}) {
    SCOPED_TRACE(keep);
    SessionOptions options;
    options.keep_intermediates = keep;
    auto session = std::move(Session::Create(*opened.model, options).value());
    const NamedTensors results = RunSession(*session, inputs);
    ExpectNear(results, Evaluate(graph, inputs));
    for (int i = 0; i < session->node_count(); ++i)
      EXPECT_FALSE(session->node(i).fell_back) << session->node(i).name;
    // Packed, a weight is a byte; all in floats would be four times as much.
    constexpr uint64_t kWeights = 64 * 24 + 2 * 40 * 64;
    EXPECT_LT(session->memory_usage().packed_weights, 2 * kWeights);
    if (!keep) continue;
    // The numbers that codes stand for are there for who looks at them.
    const TensorView rounded = session->Tap("e.codes").value();
    std::set<float> steps;
    for (int i = 0; i < 64; ++i) steps.insert(rounded.as<const float>()[i]);
    EXPECT_GT(steps.size(), 4u);
  }
}

TEST(Dynamic, WeightsMayHaveZeroPoints) {
  const Graph graph = ParseGraph(kZeroPoints);
  OpenedModel opened(graph);
  for (const int threads : {1, 2}) {
    const auto session = SharedAmong(threads, opened);
    for (const int64_t batch : {1, 30, 1, 2}) {  // Few rows, and many.
      SCOPED_TRACE(::testing::Message() << threads << " threads, batch " << batch);
      ExpectSums(*session, graph, {{"x", RandomTensor(DType::kF32, {batch, 7, 63}, 6)}});
      EXPECT_EQ(opened.model->widened_bytes(), 0u) << "weights became floats";
    }
  }
}

TEST(Dynamic, WindowsMayMeetWeightsWithZeroPoints) {
  const Graph graph = ParseGraph(kWindows);
  // Other CPUs are faster with floats where Winograd's way is.
  const bool has_sums_of_bytes =
      xnnpack::kHasOwnKernels && xnnpack::SelectKernels().codes.sums_of_bytes != nullptr;
  OpenedModel opened(graph);
  for (const int threads : {1, 2}) {
    const auto session = SharedAmong(threads, opened);
    for (const int64_t batch : {1, 3, 2}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, batch " << batch);
      ExpectSums(*session, graph, {{"x", RandomTensor(DType::kF32, {batch, 13, 17, 5}, 6)}});
      if (!has_sums_of_bytes) continue;
      EXPECT_EQ(opened.model->widened_bytes(), 0u) << "weights became floats";
    }
  }
}

/// What a row with a NaN or an infinity takes part in is NaN, and no bound of a clamp.
TEST(Dynamic, RowsWithNanAreNan) {
  for (const char* net : {kNet, kRows}) {
    const Graph graph = Dynamic(net);
    OpenedModel opened(graph);
    auto session = std::move(Session::Create(*opened.model, {}).value());
    for (const float odd :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      SCOPED_TRACE(::testing::Message() << net << odd);
      const GraphPort& port = graph.inputs()[0];
      TensorData batch = RandomTensor(DType::kF32, {3, 12, 12, graph.value(port.value).dims[3].value}, 5);
      static_cast<float*>(batch.mutable_data())[batch.elements() / 2] = odd;
      const NamedTensors inputs = {{port.name, batch}};
      for (const auto& [name, tensor] : RunSession(*session, inputs)) {
        const int64_t row = tensor.elements() / 3;
        for (int64_t i = 0; i < tensor.elements(); ++i)
          ASSERT_EQ(std::isnan(tensor.as<float>()[i]), i / row == 1) << name << " " << i;
      }
    }
  }
}

/// The GPU multiplies the numbers that codes stand for, and hands none of its work to the CPU.
TEST(Dynamic, RunsOnTheGpu) {
  if (!HasVulkan()) GTEST_SKIP() << "there is no Vulkan device here";
  const Graph graph = Dynamic(kNet);
  ConvertOptions convert;
  convert.targets = {Target::kVulkan};
  OpenedModel opened(graph, convert);
  SessionOptions options;
  options.target = Target::kVulkan;
  options.fall_back = false;
  auto session = std::move(Session::Create(*opened.model, options).value());
  const uint64_t messages = VulkanMessages();
  for (const int64_t batch : {1, 3, 2}) {
    SCOPED_TRACE(batch);
    ExpectNear(RunSession(*session, Batch(batch, 5)), Evaluate(graph, Batch(batch, 5)));
  }
  int rounded = 0;
  for (int i = 0; i < session->node_count(); ++i) {
    const NodeInfo node = session->node(i);
    EXPECT_EQ(node.delegate, DelegateKind::kVulkan) << node.name;
    EXPECT_FALSE(node.fell_back) << node.name;
    rounded += std::string_view(node.op) == "FakeQuantize" ? 1 : 0;
  }
  EXPECT_EQ(rounded, 5) << "one is read by two products";
  EXPECT_EQ(VulkanMessages(), messages) << "the validation layer had something to say";
}

}  // namespace
}  // namespace skiff::testing
