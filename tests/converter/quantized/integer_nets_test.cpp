// Nets as quantisers write them, with Quantize and Dequantize around each node: all that is between the first
// and the last one computes on integers, and on XNNPACK.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include <fmt/format.h>

#include "convert.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// Writes a graph: every result is rounded to u8, weights are i8 with a scale for each output.
class NetText {
 public:
  explicit NetText(int channels) {
    text_ = fmt::format("graph net {{\n  input x: f32[1, 16, 16, {}]\n", channels);
    Round("x", 0.0078125, 128);
  }

  /// The name of the value; the next one is made from it.
  const std::string& last() const { return last_; }

  void Convolve(int inputs, int outputs, int size, int stride, int groups, const std::string& clamp = "") {
    const int id = ++count_;
    std::string scales;
    std::string biases;
    for (int i = 0; i < outputs; ++i) {
      scales += fmt::format("{}{}", i == 0 ? "" : ", ", 0.002 + 0.0001 * (i % 7));
      biases += fmt::format("{}{}", i == 0 ? "" : ", ", i % 5 * 20 - 40);
    }
    text_ += fmt::format("  const w{}: i8[{}, {}, {}, {}] {{scale=[{}], axis=0}} = seed {}\n", id, outputs,
                         size, size, inputs / groups, scales, id);
    text_ += fmt::format(
        "  const b{}: i32[{}] {{scale=0.0001}} = [{}]\n  wr{} = Dequantize(w{})\n  br{} = Dequantize(b{})\n",
        id, outputs, biases, id, id, id, id);
    const int pad = size / 2;
    Node(fmt::format("Conv2d({}, wr{}, br{}) {{strides=[{}, {}], pads=[{}, {}, {}, {}], groups={}}}", last_,
                     id, id, stride, stride, pad, pad, pad, pad, groups));
    if (!clamp.empty()) Node(fmt::format("Clamp({}) {{{}}}", last_, clamp));
    Round(last_, 0.03, clamp.empty() ? 120 : 0);
  }

  /// A node whose result is rounded.
  void Compute(const std::string& call, double scale, int zero_point) {
    Node(call);
    Round(last_, scale, zero_point);
  }

  std::string Finish() {
    Compute(fmt::format("ReduceMean({}) {{axes=[1, 2], keep_dims=false}}", last_), 0.02, 100);
    return text_ + fmt::format("  output {}\n}}\n", last_);
  }

 private:
  void Node(const std::string& call) {
    last_ = fmt::format("n{}", ++count_);
    text_ += fmt::format("  {} = {}\n", last_, call);
  }
  void Round(const std::string& value, double scale, int zero_point) {
    const int id = ++count_;
    text_ += fmt::format("  q{}: u8 {{scale={}, zero_point={}}} = Quantize({})\n  r{} = Dequantize(q{})\n",
                         id, scale, zero_point, value, id, id);
    last_ = fmt::format("r{}", id);
  }

  std::string text_;
  std::string last_;
  int count_ = 0;
};

std::string MobileNet() {
  NetText net(3);
  net.Convolve(3, 16, 3, 2, 1, "min=0, max=6");
  const std::string before = net.last();
  net.Convolve(16, 48, 1, 1, 1, "min=0, max=6");
  net.Convolve(48, 48, 3, 1, 48, "min=0, max=6");
  net.Convolve(48, 16, 1, 1, 1);
  net.Compute(fmt::format("Add({}, {})", before, net.last()), 0.05, 118);
  net.Convolve(16, 24, 5, 2, 8, "min=0");
  return net.Finish();
}

std::string ResNet() {
  NetText net(3);
  net.Convolve(3, 16, 7, 2, 1, "min=0");
  net.Compute(fmt::format("MaxPool2d({}) {{kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]}}", net.last()),
              0.03, 0);
  const std::string before = net.last();
  net.Convolve(16, 16, 3, 1, 1, "min=0");
  net.Convolve(16, 16, 3, 1, 1);
  net.Compute(fmt::format("Add({}, {}) {{min=0}}", before, net.last()), 0.05, 0);
  return net.Finish();
}

/// SiLU as its parts, and squeeze and excitation.
std::string EfficientNet() {
  NetText net(3);
  const auto silu = [&] {
    const std::string x = net.last();
    net.Compute(fmt::format("Sigmoid({})", x), 0.00390625, 0);
    net.Compute(fmt::format("Mul({}, {})", x, net.last()), 0.03, 20);
  };
  net.Convolve(3, 16, 3, 2, 1);
  silu();
  net.Convolve(16, 16, 5, 1, 16);
  silu();
  const std::string picture = net.last();
  net.Compute(fmt::format("ReduceMean({}) {{axes=[1, 2], keep_dims=true}}", picture), 0.02, 90);
  net.Convolve(16, 4, 1, 1, 1);
  silu();
  net.Convolve(4, 16, 1, 1, 1);
  net.Compute(fmt::format("HardSigmoid({})", net.last()), 0.00390625, 0);
  net.Compute(fmt::format("Mul({}, {})", picture, net.last()), 0.02, 30);
  net.Compute(fmt::format("HardSwish({})", net.last()), 0.02, 30);
  net.Convolve(16, 8, 1, 1, 1);
  return net.Finish();
}

struct Architecture {
  const char* name;
  std::string (*text)();
};
constexpr Architecture kNets[] = {
    {"MobileNet", MobileNet}, {"ResNet", ResNet}, {"EfficientNet", EfficientNet}};

class IntegerNet : public ::testing::TestWithParam<Architecture> {};

TEST_P(IntegerNet, ComputesOnIntegersAlone) {
  const std::string text = GetParam().text();
  const auto converted = PlanGraph(ParseGraph(text));
  const Graph& graph = converted->graph;
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    if (node.op == OpCode::kQuantize || node.op == OpCode::kDequantize) continue;
    EXPECT_NE(graph.value(node.outputs[0]).quantization, nullptr)
        << FindOp(node.op)->name << " " << node.name;
  }
  for (const DraftNode& node : converted->draft.nodes) EXPECT_EQ(node.delegate(), DelegateKind::kXnnpack);
}

TEST_P(IntegerNet, ComputesWhatEagerModeComputes) {
  const Graph graph = ParseGraph(GetParam().text());
  const OpenedModel model(graph, {});
  SessionOptions options;
  options.threads = 1;
  auto session = Session::Create(*model.model, options);
  ASSERT_TRUE(session.ok());
  std::vector<float> pixels(16 * 16 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 255) / 127.5f - 1;
  const std::map<std::string, TensorData> inputs = {
      {"x", TensorData(DType::kF32, {1, 16, 16, 3}, pixels.data())}};
  const auto got = RunSession(**session, inputs);
  const auto expected = Evaluate(graph, inputs);
  for (int i = 0; i < (*session)->node_count(); ++i) EXPECT_FALSE((*session)->node(i).fell_back);
  for (const auto& [name, data] : expected) {
    const std::vector<double> a = data.ToDoubles();
    const std::vector<double> b = got.at(name).ToDoubles();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.021) << i;  // One step.
  }
}

INSTANTIATE_TEST_SUITE_P(All, IntegerNet, ::testing::ValuesIn(kNets),
                         [](const auto& info) { return std::string(info.param.name); });

/// What fold-qdq folds, XNNPACK computes: on the reference kernels it would be slower than among floats.
TEST(FoldedOperators, RunOnXnnpack) {
  const auto check = [](const std::string& call) {
    SCOPED_TRACE(call);
    const std::string operand = "= Quantize(x) a = Dequantize(q)";
    const auto converted = PlanGraph(ParseGraph(
        "graph g { input x: f32[1, 4, 4, 8] q: u8 {scale=0.02, zero_point=128} " + operand +
        " input z: f32[1, 1, 1, 8] qz: i8 {scale=0.03} = Quantize(z) b = Dequantize(qz) n = " + call +
        " qn: u8 {scale=0.025, zero_point=100} = Quantize(n) y = Dequantize(qn) output y }"));
    for (const DraftNode& node : converted->draft.nodes) EXPECT_EQ(node.delegate(), DelegateKind::kXnnpack);
  };
  for (const OpDef& op : AllOps()) {
    if (QuantizedUseOf(op.code) == QuantizedUse::kNone) continue;
    if (op.Is(OpTraits::kUnary) && op.code != OpCode::kLookup) check(std::string(op.name) + "(a)");
    const bool makes_truths = op.code >= OpCode::kEqual && op.code <= OpCode::kGreaterOrEqual;
    if (op.Is(OpTraits::kBinary) && !makes_truths) check(std::string(op.name) + "(a, b)");
  }
  for (const char* call :
       {"AveragePool2d(a) {kernel=[2, 2], strides=[2, 2]}", "MaxPool2d(a) {kernel=[2, 2], strides=[2, 2]}",
        "ReduceMean(a) {axes=[1, 2]}", "ReduceSum(a) {axes=[3]}", "Softmax(a) {axis=-1}"})
    check(call);
}

/// x * sigmoid(x) and its kin: both inputs follow from one code, and the delegate looks the result up.
TEST(ComposedTables, RoundTwiceAsTheirPartsDo) {
  std::vector<float> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.02f * (static_cast<float>(i) - 100);
  const TensorData x(DType::kF32, {2, 128}, numbers.data());
  for (const char* unary : {"Sigmoid", "HardSigmoid", "Tanh", "Abs"}) {
    for (const char* binary :
         {"Mul(a, b)", "Mul(b, a)", "Sub(a, b)", "Sub(b, a)", "Max(b, a)", "Add(a, b) {min=0}"}) {
      for (const char* type : {"u8 {scale=0.0125, zero_point=30}", "i8 {scale=0.0125, zero_point=-90}"}) {
        const std::string text = fmt::format(
            "graph g {{ input x: f32[2, 128] q: u8 {{scale=0.02, zero_point=100}} = Quantize(x) a = "
            "Dequantize(q) "
            "n = {}(a) m: {} = Quantize(n) b = Dequantize(m) p = {} r: {} = Quantize(p) y = Dequantize(r) "
            "output y }}",
            unary, type, binary, type);
        SCOPED_TRACE(text);
        const Graph graph = ParseGraph(text);
        ConvertOptions apart;
        apart.pipeline.disabled = {"compose-tables"};
        const OpenedModel model(graph, {});
        const OpenedModel parts(graph, apart);
        SessionOptions options;
        auto session = Session::Create(*model.model, options);
        options.backend = Backend::kReference;
        auto reference = Session::Create(*parts.model, options);
        ASSERT_TRUE(session.ok() && reference.ok());
        const auto got = RunSession(**session, {{"x", x}});
        for (int i = 0; i < (*session)->node_count(); ++i) EXPECT_FALSE((*session)->node(i).fell_back);
        EXPECT_EQ(got.at("y").ToDoubles(), RunSession(**reference, {{"x", x}}).at("y").ToDoubles());
      }
    }
  }
}

/// Few rows and many go different ways, in one Session.
TEST(IntegerNets, RowsMayBecomeMore) {
  const Graph graph = ParseGraph(R"(graph rows {
    input x: f32[N, 40]
    const w: i8[70, 40] {scale=0.01} = seed 1
    const v: u8[24, 70] {scale=0.01, zero_point=117} = seed 2
    q: i8 {scale=0.01, zero_point=3} = Quantize(x)
    r = Dequantize(q)
    wr = Dequantize(w)
    m = FullyConnected(r, wr)
    mq: i8 {scale=0.02, zero_point=-5} = Quantize(m)
    mr = Dequantize(mq)
    y = Softplus(mr)
    yq: u8 {scale=0.02, zero_point=0} = Quantize(y)
    yr = Dequantize(yq)
    vr = Dequantize(v)
    z = FullyConnected(yr, vr)
    zq: u8 {scale=0.05, zero_point=130} = Quantize(z)
    out = Dequantize(zq)
    output out
  })");
  OpenedModel opened(graph);
  auto session = std::move(Session::Create(*opened.model, {}).value());
  for (const int64_t rows : {1, 40, 3, 12}) {
    SCOPED_TRACE(rows);
    const std::map<std::string, TensorData> inputs = {{"x", RandomTensor(DType::kF32, {rows, 40}, 6)}};
    const Difference difference =
        Compare(RunSession(*session, inputs).at("out"), Evaluate(graph, inputs).at("out"));
    EXPECT_LE(difference.difference, 0.0501) << "more than a code";
    for (int i = 0; i < session->node_count(); ++i)
      EXPECT_FALSE(session->node(i).fell_back) << session->node(i).name;
  }
}

}  // namespace
}  // namespace skiff::testing
