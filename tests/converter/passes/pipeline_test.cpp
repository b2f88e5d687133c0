#include <gtest/gtest.h>

#include <algorithm>

#include "graph/error.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

Graph Small() {
  return ParseGraph(R"(graph small {
    input x: f32[2, 3]
    const two: f32[] = 2
    const three: f32[] = 3
    six = Mul(two, three)
    scaled = Mul(six, x)
    same = Identity(scaled)
    y = Clamp(same) {min=0}
    output y
  })");
}

constexpr const char* kOptimised = R"(graph small {
  input x: f32[2, 3]
  const six: f32[] = 6
  y: f32[2, 3] = Mul(x, six) {min=0}
  output y = y
}
)";

TEST(Pipeline, RunsAllPasses) {
  Graph graph = Small();
  std::vector<std::pair<std::string, double>> timings;
  PipelineOptions options;
  options.verify = true;
  options.timings_ms = &timings;
  RunPipeline(graph, options);
  EXPECT_EQ(PrintGraph(graph), kOptimised);
  ASSERT_EQ(timings.size(), Pipeline().size());
  EXPECT_EQ(timings.front().first, "sink-constants");
}

TEST(Pipeline, RunsOverBodies) {
  Graph graph = ParseGraph(R"(graph g {
    input c: bool[]
    input x: f32[1, 4]
    const w: f32[4, 4] = seed 1
    const k: f32[] = 2
    k2 = Mul(k, k)
    y = If(c, x, w, k2) then {
      input x input w input k
      m = MatMul(x, w)
      r = Clamp(m) {min=0}
      output r
    } else {
      input x input w input k
      d = MatMul(x, w)
      s = Mul(x, k)
      output s
    }
    output y
  })");
  PipelineOptions options;
  options.verify = true;
  RunPipeline(graph, options);
  const std::string text = PrintGraph(graph);
  EXPECT_NE(text.find("If(c, x)"), std::string::npos) << text;
  EXPECT_NE(text.find("r: f32[1, 4] = FullyConnected(x, w_1.weights) {min=0}"), std::string::npos) << text;
  EXPECT_NE(text.find("const k2: f32[] = 4"), std::string::npos) << text;
  EXPECT_EQ(text.find("MatMul"), std::string::npos) << text;
}

TEST(Pipeline, RunningItAgainChangesNothing) {
  Graph graph = Small();
  RunPipeline(graph);
  RunPipeline(graph);
  EXPECT_EQ(PrintGraph(graph), kOptimised);
}

TEST(Pipeline, ADisabledPassDoesNotRun) {
  Graph graph = Small();
  PipelineOptions options;
  options.disabled = {"fuse-activation", "canonicalize"};
  RunPipeline(graph, options);
  const std::string text = PrintGraph(graph);
  EXPECT_NE(text.find("Identity"), std::string::npos) << text;
  EXPECT_NE(text.find("Clamp"), std::string::npos) << text;
}

TEST(Pipeline, EveryPassThatIsNotRequiredCanBeDisabledAlone) {
  for (const Pass& pass : Pipeline()) {
    if (pass.required) continue;
    Graph graph = Small();
    PipelineOptions options;
    options.verify = true;
    options.disabled = {pass.name};
    EXPECT_NO_THROW(RunPipeline(graph, options)) << pass.name;
  }
}

TEST(Pipeline, RefusesToDisableWhatIsUnknownOrRequired) {
  for (const auto& [name, message] :
       {std::pair("fuse-everything", "there is no pass 'fuse-everything'"),
        std::pair("infer-shapes", "the pass 'infer-shapes' cannot be disabled")}) {
    Graph graph = Small();
    PipelineOptions options;
    options.disabled = {name};
    try {
      RunPipeline(graph, options);
      ADD_FAILURE() << "no Error for " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

TEST(Pipeline, DumpsAfterTheNamedPass) {
  Graph graph = Small();
  PipelineOptions options;
  options.dump_after = {"fuse-activation"};
  std::string dumped;
  options.dump = [&](const std::string& text) { dumped += text; };
  RunPipeline(graph, options);
  EXPECT_EQ(dumped, std::string("# after fuse-activation\n") + kOptimised);
  options.dump_after = {"nothing"};
  EXPECT_THROW(RunPipeline(graph, options), Error);
}

TEST(Pipeline, NamesAreHyphenatedAndPurposesAreLines) {
  for (const Pass& pass : Pipeline()) {
    const std::string name = pass.name;
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](char c) {
      return c == '-' || (c >= 'a' && c <= 'z');
    })) << name;
    EXPECT_EQ(std::string(pass.purpose).find('\n'), std::string::npos);
    EXPECT_LT(std::string(pass.purpose).size(), 80u) << name;
  }
}

/// An extent that may be 0 or 1 and is broadcast is an expression over both operands' extents.
TEST(Pipeline, ExpressionsDoNotGrowWithEachNode) {
  std::string text =
      "graph g {\n symbol n: 0..8\n symbol m: 0..8\n input x: f32[n]\n input z: f32[m]\n"
      " y0 = Add(x, z)\n";
  constexpr int kNodes = 60;
  for (int i = 1; i < kNodes; ++i)
    text += fmt::format(" y{} = Add(y{}, {})\n", i, i - 1, i % 2 == 0 ? "x" : "z");
  Graph graph = ParseGraph(text + fmt::format(" output y = y{}\n}}\n", kNodes - 1));
  InferShapes(graph);
  const Value& y = graph.value(graph.outputs()[0].value);
  ASSERT_EQ(y.dims.size(), 1u);
  EXPECT_LT(y.dims[0].weight(), 2000u);
  EXPECT_EQ(y.dims[0].bounds().min, 0);
}

/// Without a frame of the stack for each.
TEST(Pipeline, AChainThatNobodyNeedsIsDroppedWhateverItsLength) {
  Graph graph = ParseGraph("graph g {\n  input x: f32[2]\n  const yes: bool[] = 1\n}");
  const ValueId x = graph.inputs()[0].value;
  ValueId last = x;
  for (int i = 0; i < 300'000; ++i) last = graph.Emit(OpCode::kSigmoid, {last});
  const ValueId chosen = graph.Emit(OpCode::kWhere, {graph.FindValue("yes"), x, last});
  const ValueId y = graph.Emit(OpCode::kNeg, {chosen});
  graph.AddOutput("y", y);
  InferShapes(graph);
  Canonicalize(graph);
  EXPECT_EQ(graph.node(graph.value(y).producer).inputs[0], x);
  EXPECT_EQ(graph.value(x).uses.size(), 1u);
}

}  // namespace
}  // namespace skiff
