#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/passes.h"

namespace skiff {
namespace {

uint64_t ConstantBytes(const Graph& graph) {
  uint64_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).constant) bytes += graph.value(id).constant->size_bytes();
  }
  return bytes;
}

/// Each Concat doubles, which is modest; all of them would make 16 GiB of 64 KiB.
TEST(FoldConstants, ChainsOfModestStepsHaveABudget) {
  std::string text = "graph g {\n  input x: f32[1]\n  const c0: f32[16384] = seed 1\n";
  for (int i = 0; i < 18; ++i) {
    text += fmt::format("  c{} = Concat(c{}, c{}) {{axis=0}}\n", i + 1, i, i);
  }
  text += "  s = ReduceSum(c18) {axes=[0], keep_dims=false}\n  y = Add(x, s)\n  output y = y\n}\n";
  Graph graph = ParseGraph(text);
  for (int i = 0; i < 3; ++i) {  // As often as a pipeline may run the pass.
    InferShapes(graph);
    FoldConstants(graph);
  }
  EXPECT_LE(ConstantBytes(graph), uint64_t{600} << 20);
  EXPECT_GE(ConstantBytes(graph), uint64_t{1} << 20) << "what is modest is folded";
}

TEST(FoldConstants, GraphsOfOneFileShareTheBudget) {
  std::string text = "graph g {\n  input x: f32[1]\n  const c0: f32[16384] = seed 1\n";
  for (int i = 0; i < 12; ++i) text += fmt::format("  c{} = Concat(c{}, c{}) {{axis=0}}\n", i + 1, i, i);
  text += "  s = ReduceSum(c12) {axes=[0], keep_dims=false}\n  y = Add(x, s)\n  output y = y\n}\n";
  const auto folded = [&](size_t graphs) {
    Graph graph = ParseGraph(text);
    ShareFoldingBudget(graph, graphs);
    InferShapes(graph);
    FoldConstants(graph);
    return ConstantBytes(graph);
  };
  EXPECT_GE(folded(1), uint64_t{100} << 20);
  EXPECT_LE(folded(64), uint64_t{10} << 20) << "its 4 MiB, beside those that folding has freed";
  EXPECT_GE(folded(64), uint64_t{1} << 20) << "what is modest is folded";
}

/// What others read as well stays, whatever is computed of it.
TEST(FoldConstants, BytesOfSharedConstantsAreNotFreed) {
  std::string text = "graph g {\n  input x: f32[1]\n  const c: f32[1048576] = seed 1\n";
  for (int i = 0; i < 300; ++i)
    text += fmt::format(
        "  const k{0}: f32[] = {0}\n  a{0} = Add(c, k{0})\n  s{0} = Mul(a{0}, x)\n  output s{0}\n", i);
  Graph graph = ParseGraph(text + "}\n");
  InferShapes(graph);
  FoldConstants(graph);
  EXPECT_LE(ConstantBytes(graph), uint64_t{300} << 20);
  EXPECT_GE(ConstantBytes(graph), uint64_t{200} << 20) << "what is modest is folded";
}

int CountOf(const Graph& graph, OpCode op) {
  int count = 0;
  for (const NodeId id : graph.TopologicalOrder()) count += graph.node(id).op == op ? 1 : 0;
  return count;
}

/// Products of constants that are none of the source's, each as long as the one before.
TEST(FoldConstants, WorkHasABudget) {
  std::string text = R"(graph g {
    input x: f32[1]
    const s0: f32[64, 64] = seed 1
    const r: i64[2] = [2, 2]
    const small: f32[8, 8] = seed 2
    q = MatMul(small, small)
    s1 = Tile(s0, r)
    s2 = Tile(s1, r)
    s3 = Tile(s2, r)
    m0 = Tile(s3, r)
)";
  for (int i = 0; i < 30; ++i) text += fmt::format("  m{} = MatMul(m{}, m0)\n", i + 1, i);
  Graph graph = ParseGraph(text + R"(
    a = ReduceSum(m30) {axes=[0, 1], keep_dims=false}
    b = ReduceSum(q) {axes=[0, 1], keep_dims=false}
    y0 = Add(x, a)
    y = Add(y0, b)
    output y
  })");
  InferShapes(graph);
  FoldConstants(graph);
  const int products = CountOf(graph, OpCode::kMatMul);
  EXPECT_GE(products, 20) << "2^30 multiply-adds each";
  EXPECT_LE(products, 29) << "what is modest is folded";
}

/// Nodes that share a constant would each get one of their own.
std::string Shared(const char* op, int count) {
  std::string text = R"(graph g {
    const c: f32[1024, 2048] = seed 1
    input x: f32[1, 1024]
    input z: f32[1024, 2048]
)";
  for (int i = 0; i < count; ++i)
    text += fmt::format("  a{0} = {1}({2}, c)\n  y{0} = ReduceSum(a{0}) {{axes=[0, 1]}}\n  output y{0}\n", i,
                        op, std::string_view(op) == "MatMul" ? "x" : "z");
  return text + "}\n";
}

TEST(Canonicalize, CopiesOfOneConstantHaveABudget) {
  Graph graph = ParseGraph(Shared("Sub", 200));
  InferShapes(graph);
  FoldConstants(graph);
  Canonicalize(graph);
  EXPECT_GE(CountOf(graph, OpCode::kAdd), 1);
  EXPECT_LE(ConstantBytes(graph), uint64_t{320} << 20);
}

TEST(ShapeQuantizedWeights, CopiesOfOneConstantHaveABudget) {
  std::string text = "graph g {\n  const w: i8[4096, 4096] {scale=0.5} = seed 1\n  r = Dequantize(w)\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("  t{} = Transpose(r) {{perm=[1, 0]}}\n", i);
  for (int i = 0; i < 40; ++i) text += fmt::format("  output t{}\n", i);
  Graph graph = ParseGraph(text + "}\n");
  InferShapes(graph);
  ShapeQuantizedWeights(graph);
  EXPECT_LE(ConstantBytes(graph), uint64_t{350} << 20);
  EXPECT_GE(ConstantBytes(graph), uint64_t{100} << 20) << "some are transposed";
}

TEST(FuseLinear, CopiesOfOneConstantHaveABudget) {
  Graph graph = ParseGraph(Shared("MatMul", 200));
  InferShapes(graph);
  FoldConstants(graph);
  FuseLinear(graph);
  EXPECT_GE(CountOf(graph, OpCode::kFullyConnected), 1);
  EXPECT_LE(ConstantBytes(graph), uint64_t{320} << 20);
}

/// Each factor multiplies all weights again.
TEST(FuseLinear, ChainsOfFactorsHaveABudget) {
  std::string text = R"(graph g {
    input x: f32[2, 1024]
    const c: f32[1024, 1024] = seed 1
    const k: f32[] = 1.25
    m0 = MatMul(x, c)
)";
  for (int i = 0; i < 1000; ++i) text += fmt::format("  m{} = Mul(m{}, k)\n", i + 1, i);
  Graph graph = ParseGraph(text + "  y = Sin(m1000)\n  output y\n}\n");
  InferShapes(graph);
  FoldConstants(graph);
  FuseLinear(graph);
  EXPECT_LE(CountOf(graph, OpCode::kMul), 999) << "what is modest is folded";
  EXPECT_GE(CountOf(graph, OpCode::kMul), 500);
}

/// Of a LayerNorm by hand, but for the quotient d / deviation.
constexpr const char* kDeviation = R"(
    const epsilon: f32[] = 1e-05
    mean = ReduceMean(x) {axes=[1]}
    d = Sub(x, mean)
    square = Mul(d, d)
    variance = ReduceMean(square) {axes=[1]}
    safe = Add(variance, epsilon)
    deviation = Sqrt(safe)
)";

/// A scale of ones for each element of 4 GiB.
TEST(RecognizeComposites, AScaleIsNotMadeOfWhatAnInputClaims) {
  Graph graph = ParseGraph(std::string("graph g {\n  input x: f32[2, 1073741824]\n") + kDeviation +
                           "  y = Div(d, deviation)\n  output y\n}\n");
  InferShapes(graph);
  RecognizeComposites(graph);
  EXPECT_LE(ConstantBytes(graph), 1024U);
}

TEST(RecognizeComposites, ScalesHaveABudget) {
  std::string text = std::string("graph g {\n  input x: f32[1, 4194304]\n") + kDeviation;
  for (int i = 0; i < 100; ++i) text += fmt::format("  y{0} = Div(d, deviation)\n", i);
  for (int i = 0; i < 100; ++i) text += fmt::format("  output y{}\n", i);
  Graph graph = ParseGraph(text + "}\n");
  InferShapes(graph);
  RecognizeComposites(graph);
  EXPECT_GE(CountOf(graph, OpCode::kLayerNorm), 1) << "16 MiB of scales each";
  EXPECT_LE(ConstantBytes(graph), uint64_t{260} << 20);
}

/// Two numbers for each of the channels that an input claims would be 6 GB.
TEST(FuseLinear, WeightsThatAreNotConstantAreAskedForFirst) {
  Graph graph = ParseGraph(R"(graph g {
    input x: f32[1, 1, 1, 1]
    input w: f32[400000000, 1, 1, 1]
    product = Conv2d(x, w)
    y = Neg(product)
    output y
  })");
  InferShapes(graph);
  FuseLinear(graph);
  EXPECT_EQ(CountOf(graph, OpCode::kNeg), 1);
  ASSERT_EQ(graph.sources().back().notes.size(), 1u);
  EXPECT_EQ(*graph.sources().back().notes[0], "not fused: the weights of 'product' are not constant");
}

/// Whose channels are open, so that weights of any number suit them.
TEST(FuseLinear, ConvolutionsOfOtherChannelsAreNotMerged) {
  Graph graph = ParseGraph(R"(graph g {
    input x: f32[1, 4, 4, c]
    const four: f32[2, 1, 1, 4] = seed 1
    const eight: f32[2, 1, 1, 8] = seed 2
    a = Conv2d(x, four)
    b = Conv2d(x, eight)
    y = Add(a, b)
    output y
  })");
  InferShapes(graph);
  FuseLinear(graph);
  EXPECT_EQ(CountOf(graph, OpCode::kAdd), 1);
}

/// Many operators may share weights of many channels.
TEST(FuseLinear, NumbersPerChannelHaveABudget) {
  std::string text = "graph g {\n  input x: f32[1, 1]\n  const w: f32[1048576, 1] = seed 1\n";
  for (int i = 0; i < 1000; ++i)
    text += fmt::format("  p{0} = FullyConnected(x, w)\n  y{0} = Neg(p{0})\n  output y{0}\n", i);
  Graph graph = ParseGraph(text + "}\n");
  InferShapes(graph);
  FuseLinear(graph);
  EXPECT_LE(CountOf(graph, OpCode::kNeg), 999) << "what is modest is folded";
  EXPECT_EQ(*graph.sources().back().notes.back(), "not fused: too much would be multiplied ahead of time");
}

/// Each product would have a longer name than the one before.
TEST(FuseLinear, ChainsOfFactorsHaveShortNames) {
  std::string text = "graph g {\n  input x: f32[2, 2]\n  const w: f32[2, 2] = seed 1\n";
  text += "  n0 = FullyConnected(x, w)\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("  n{} = Neg(n{})\n", i + 1, i);
  Graph graph = ParseGraph(text + "  output n1000\n}\n");
  InferShapes(graph);
  FuseLinear(graph);
  EXPECT_EQ(CountOf(graph, OpCode::kNeg), 0);
  for (ValueId id = 0; id < graph.value_count(); ++id) EXPECT_LT(graph.value(id).name.size(), 2100u);
}

/// All that many roots have in common would be read again for each of them, and in as many ways as there are
/// paths through it.
TEST(RecognizeComposites, RootsOfOneFunctionHaveABudget) {
  std::string text = "graph g {\n  input x: f32[2]\n  input z: f32[2]\n  t0 = Add(x, x)\n";
  for (int i = 0; i < 8; ++i) text += fmt::format("  t{} = Add(t{}, t{})\n", i + 1, i, i);
  text += "  s = Sigmoid(x)\n  gate = Sigmoid(z)\n  silu = Mul(z, gate)\n  output silu\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("  y{0} = Add(t8, s)\n", i);
  for (int i = 0; i < 20000; ++i) text += fmt::format("  output y{}\n", i);
  Graph graph = ParseGraph(text + "}\n");
  InferShapes(graph);
  RecognizeComposites(graph);
  EXPECT_EQ(CountOf(graph, OpCode::kSilu), 1);
  EXPECT_EQ(CountOf(graph, OpCode::kSigmoid), 1);
}

/// A constant has as many samples, taps or votes as its operator says, not as its bytes are.
TEST(FoldConstants, SamplesAndVotesAreWork) {
  std::string text = "graph g {\n  input x: f32[n]\n  const i: f32[1, 128, 128, 1] = seed 1\n";
  text +=
      "  const box: f32[1, 4] = [0, 0, 3, 3]\n  const of: i64[1] = [0]\n"
      "  cells = RoiAlign(i, box, of) {height=512, width=512, sampling_ratio=128}\n";
  text +=
      "  const sizes: i64[2] = [128, 128]\n  const scales: f32[2] = [0.000000001, 0.000000001]\n"
      "  taps = Resize2d(i, sizes, scales) {mode=linear, antialias=true}\n";
  std::string zeros = "[0";
  for (int i = 1; i < 20000; ++i) zeros += ", 0";
  zeros += "]\n";
  text +=
      "  const rows: f32[64, 1] = seed 2\n  const nodes: i32[1, 4] = [0, 0, 0, 20000]\n"
      "  const thresholds: f32[1] = [0]\n  const votes: f32[20000] = seed 3\n";
  text += "  const roots: i32[20000] = " + zeros + "  const targets: i32[20000] = " + zeros;
  text += "  sums = TreeEnsemble(rows, nodes, thresholds, roots, targets, votes) {targets=1}\n";
  Graph graph =
      ParseGraph(text + "  y = Neg(x)\n  output y\n  output cells\n  output taps\n  output sums\n}\n");
  InferShapes(graph);
  FoldConstants(graph);
  for (const char* name : {"cells", "taps", "sums"})
    EXPECT_FALSE(graph.value(graph.FindValue(name)).constant) << name;
}

/// A result without elements takes no steps, however many rows it has none in.
TEST(FoldConstants, WhatHasNoElementsIsNotComputed) {
  std::string text = "graph g {\n  input x: f32[n]\n  const c0: f32[67108864, 0] = []\n";
  for (int i = 0; i < 2000; ++i) text += fmt::format("  c{} = Softmax(c{}) {{axis=1}}\n", i + 1, i);
  Graph graph = ParseGraph(text + "  y = Neg(x)\n  output y\n  output c2000\n}\n");
  InferShapes(graph);
  FoldConstants(graph);
  const NodeId last = graph.value(graph.outputs()[1].value).producer;
  EXPECT_NE(graph.ConstantInput(last, 0), nullptr) << "all but what makes the output is folded";
}

/// Each node wants the constant in an order of its own.
TEST(ToNhwc, OrdersOfConstantsHaveABudget) {
  const auto planned = [](int nodes) {
    std::string text =
        "graph g {\n  input x: f32[4, 4, 4, 4, 4, 4, 4]\n  const c: f32[4, 4, 4, 4, 4, 4, 4] = seed 1\n";
    std::vector<int> perm = {0, 1, 2, 3, 4, 5, 6};
    for (int i = 0; i < nodes; ++i) {
      std::next_permutation(perm.begin(), perm.end());
      text += fmt::format(
          "  t{0} = Transpose(x) {{perm=[{1}]}}\n  m{0} = Mul(t{0}, c)\n"
          "  s{0} = ReduceSum(m{0}) {{axes=[0, 1, 2, 3, 4, 5, 6], keep_dims=false}}\n  output s{0}\n",
          i, fmt::join(perm, ", "));
    }
    Graph graph = ParseGraph(text + "}\n");
    ShareFoldingBudget(graph, 64);
    InferShapes(graph);
    ToNhwc(graph);
    EliminateDeadCode(graph);
    return graph;
  };
  EXPECT_EQ(CountOf(planned(20), OpCode::kTranspose), 0) << "what is modest is done";
  EXPECT_LE(ConstantBytes(planned(200)), uint64_t{8} << 20);
}

/// Each of the nodes looks whether its indices are a range, in each round.
TEST(Canonicalize, LooksAtSharedIndicesHaveABudget) {
  std::string text = "graph g {\n  input x: f32[4]\n  const i: i32[1000000] = seed 1\n";
  for (int i = 0; i < 4; ++i) text += fmt::format("  y{0} = Gather(x, i)\n  output y{0}\n", i);
  Graph graph = ParseGraph(text + "}\n");
  ShareFoldingBudget(graph, 1);
  InferShapes(graph);
  const int64_t before = graph.folding.work;
  Canonicalize(graph);
  EXPECT_LE(graph.folding.work, before - 4'000'000);
}

}  // namespace
}  // namespace skiff
