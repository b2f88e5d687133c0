#include "graph/bodies.h"

#include <gtest/gtest.h>

#include <regex>

#include "graph/error.h"
#include "graph/evaluate_within.h"
#include "graph/shape_program.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "passes/passes.h"
#include "plan/limits.h"

namespace skiff {
namespace {

constexpr const char* kChoose = R"(graph choose {
  input c: bool[]
  input x: f32[n, 2]
  y: f32[n, 2] = If(c, x) then {
    input x: f32[n, 2]
    a: f32[n, 2] = Neg(x)
    output y = a
  } else {
    input x: f32[n, 2]
    const two: f32[] = 2
    b: f32[n, 2] = Mul(x, two)
    output y = b
  }
  output y = y
}
)";

/// Doubles x until i reaches the limit.
constexpr const char* kDouble = R"(graph doubled {
  input i: i64[]
  input x: f32[n]
  input limit: i64[]
  last: i64[], y: f32[n] = While(i, x, limit) condition {
    input i: i64[]
    input x: f32[n]
    input limit: i64[]
    go: bool[] = Less(i, limit)
    output go = go
  } body {
    input i: i64[]
    input x: f32[n]
    input limit: i64[]
    const one: i64[] = 1
    next: i64[] = Add(i, one)
    sum: f32[n] = Add(x, x)
    output next = next
    output sum = sum
  }
  output y = y
  output last = last
}
)";

TensorData Int(int64_t value) { return TensorData(DType::kI64, Shape{}, &value); }
TensorData Bool(bool value) { return TensorData(DType::kBool, Shape{}, &value); }

/// Without the types of results, which then come from inference.
std::string WithoutTypes(const std::string& text) {
  return std::regex_replace(text, std::regex("(last|y|next|sum|go|a|b): [a-z0-9]+\\[[^\\]]*\\]"), "$1");
}

void ExpectError(const std::string& text, const char* message) {
  try {
    Graph graph = ParseGraph(text);
    InferShapes(graph);
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(Bodies, PrintAndParseAreInverse) {
  for (const char* text : {kChoose, kDouble}) {
    const Graph graph = ParseGraph(text);
    EXPECT_NO_THROW(Verify(graph));
    EXPECT_EQ(PrintGraph(graph), text);
  }
}

TEST(Bodies, TypesComeFromTheNodesInputs) {
  Graph graph = ParseGraph(R"(graph g {
    input c: bool[1]
    input x: f32[n, 4]
    const target: i64[2] = [-1, 2]
    y = If(c, x, target) then {
      input x input t
      r = Reshape(x, t)
      output r
    } else {
      input x input t
      s = Shape(x)
      const rest: i64[2] = [2, -1]
      f = Reshape(x, rest)
      p = Transpose(f) {perm=[1, 0]}
      output p
    }
    output y
  })");
  InferShapes(graph);
  EXPECT_NO_THROW(Verify(graph));
  const Value& y = graph.value(graph.FindValue("y"));
  EXPECT_EQ(DimsText(graph, y.dims), "[2*n, 2]");
  const Node& node = graph.node(y.producer);
  EXPECT_FALSE(NeedsValues(node, 0));
  EXPECT_FALSE(NeedsValues(node, 1));
}

TEST(Bodies, ChooseABranch) {
  Graph graph = ParseGraph(WithoutTypes(kChoose));
  InferShapes(graph);
  const float numbers[] = {1, -2};
  const TensorData x(DType::kF32, Shape{1, 2}, numbers);
  EXPECT_EQ(Evaluate(graph, {{"c", Bool(true)}, {"x", x}})["y"].ToDoubles(), (std::vector<double>{-1, 2}));
  EXPECT_EQ(Evaluate(graph, {{"c", Bool(false)}, {"x", x}})["y"].ToDoubles(), (std::vector<double>{2, -4}));
}

TEST(Bodies, RepeatUntilTheConditionIsFalse) {
  Graph graph = ParseGraph(WithoutTypes(kDouble));
  InferShapes(graph);
  EXPECT_NO_THROW(Verify(graph));
  const TensorData x = TensorData::OfFloats({1, 3});
  auto results = Evaluate(graph, {{"i", Int(2)}, {"x", x}, {"limit", Int(5)}});
  EXPECT_EQ(results["y"].ToDoubles(), (std::vector<double>{8, 24}));
  EXPECT_EQ(results["last"].ToInts(), (std::vector<int64_t>{5}));
  results = Evaluate(graph, {{"i", Int(5)}, {"x", x}, {"limit", Int(5)}});
  EXPECT_EQ(results["y"].ToDoubles(), (std::vector<double>{1, 3}));
}

TEST(Bodies, ACopyHasItsOwn) {
  Graph graph = ParseGraph(kChoose);
  Graph copy = graph;
  Graph& body = copy.node(copy.value(copy.FindValue("y")).producer).bodies[0];
  body.AddConstant("added", TensorData::ScalarF32(1));
  EXPECT_EQ(PrintGraph(graph), kChoose);
  EXPECT_EQ(graph.node(graph.value(graph.FindValue("y")).producer).bodies[0].FindValue("added"), kNoValue);
}

TEST(Bodies, KnowWhichInputsDecideShapes) {
  Graph graph = ParseGraph(R"(graph g {
    input c: bool[]
    input x: f32[8]
    input n: i64[1]
    y = If(c, x, n) then {
      input x input n
      const one: i64[1] = [1]
      m = Add(n, one)
      e = Expand(x, m)
      r = ReduceSum(e)
      output r
    } else {
      input x input n
      r = ReduceSum(x)
      output r
    }
    output y
  })");
  const Node& node = graph.node(graph.value(graph.FindValue("y")).producer);
  EXPECT_FALSE(NeedsValues(node, 0));
  EXPECT_FALSE(NeedsValues(node, 1));
  EXPECT_TRUE(NeedsValues(node, 2));
}

TEST(Bodies, SayWhatDoesNotFit) {
  ExpectError(
      "graph g { input c: bool[] input x: f32[2] y = If(c, x) then { input x y = Neg(x) output y } else { "
      "input x const z: f32[1, 3] = [1, 2, 3] output z } output y }",
      "output 0 is f32[2] ('y') in the branch 'then' and f32[1, 3] ('z') in the branch 'else'");
  ExpectError(
      "graph g { input c: f32[] input x: f32[2] y = If(c, x) then { input x output x } else { input x output "
      "x } output y }",
      "the condition 'c' is f32[]; it must be a bool of one element");
  ExpectError(
      "graph g { input c: bool[] input x: f32[2] y = If(c, x) then { output c } else { input x output x } "
      "output y }",
      "there is no value 'c' above this line");
  ExpectError(
      "graph g { input c: bool[] input x: f32[2] y = If(c, x) then { input x input z output x } else { input "
      "x output x } output y }",
      "its body 'then' has 2 inputs and 1 outputs, the node wants 1 and 1");
  ExpectError(
      "graph g { input v: f32[1] y = While(v) condition { input v const go: bool[] = 1 output go } body { "
      "input v const to: i64[2] = [1, 1] w = Reshape(v, to) output w } output y }",
      "loop variable 0 'v' changes its type from f32[1] to f32[1, 1]; a loop variable keeps its dtype and "
      "rank");
}

/// `depth` bodies in each other.
std::string Nested(int depth) {
  std::string text = "graph g { input c: bool[] input x: f32[2] ";
  for (int i = 0; i < depth; ++i) text += "y" + std::to_string(i) + " = If(c, c, x) then { input c input x ";
  text += "output x ";
  for (int i = depth - 1; i >= 0; --i)
    text += "} else { input c input x output x } output y" + std::to_string(i) + " ";
  return text + "}";
}

/// As deep as a file may have them, and no deeper, however long the text is.
TEST(Bodies, LieInEachOtherToADepth) {
  EXPECT_NO_THROW(ParseGraph(Nested(kMaxBodyDepth)));
  for (const int depth : {kMaxBodyDepth + 1, 20000}) {
    try {
      ParseGraph(Nested(depth));
      ADD_FAILURE() << "no Error was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("bodies lie in bodies at most 16 deep"), std::string::npos)
          << error.what();
    }
  }
}

/// What an iteration makes longer or shorter is a Symbol in the bodies and behind the loop.
TEST(Bodies, LoopVariablesMayChangeTheirExtents) {
  const auto bounds_of_result = [](const char* body) {
    Graph graph = ParseGraph(fmt::format(
        "graph g {{ input v: f32[4, 3] y, n = While(v, v) condition {{ input v input n const go: bool[] = 1 "
        "output go }} body {{ input v input n {} output w output n2 }} output y output n }}",
        body));
    InferShapes(graph);
    const Value& kept = graph.value(graph.FindValue("n"));
    EXPECT_EQ(kept.dims, (std::vector<Dim>{Dim(4), Dim(3)}));
    const Value& y = graph.value(graph.FindValue("y"));
    EXPECT_EQ(y.dims[1], Dim(3));
    return y.dims[0].bounds();
  };
  const Bounds grown = bounds_of_result("w = Concat(v, n) {axis=0} n2 = Neg(n)");
  EXPECT_EQ(grown.min, 4);
  EXPECT_EQ(grown.max, Symbol::kUnbounded);
  const Bounds shrunk = bounds_of_result(
      "const one: i64[1] = [1] const end: i64[1] = [4] const axis: i64[1] = [0] w = Slice(v, one, end, axis) "
      "n2 = Neg(n)");
  EXPECT_EQ(shrunk.min, 0);
  EXPECT_EQ(shrunk.max, 4);
}

/// A file of a kilobyte can ask for more of both.
TEST(Bodies, RunWithinLimits) {
  const Graph graph = ParseGraph(kDouble);
  const auto run = [&](int64_t steps, int64_t elements, const EvaluateLimits& limits) -> std::string {
    try {
      EvaluateWithin(limits, graph,
                     {{"i", TensorData::OfInts({0}).Reshaped(Shape{})},
                      {"x", TensorData(DType::kF32, Shape{elements})},
                      {"limit", TensorData::OfInts({steps}).Reshaped(Shape{})}});
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kUnsupported);
      return error.what();
    }
  };
  const EvaluateLimits limits{1 << 12, 5};
  EXPECT_EQ(run(5, 100, limits), "");
  EXPECT_NE(run(6, 100, limits).find("the loops of a run take more than 5 steps"), std::string::npos);
  EXPECT_NE(run(1, 2000, limits).find("are left of what a run in eager mode may take"), std::string::npos);
  EXPECT_EQ(run(5, 2000, {}), "");
  // Of all runs together, however many steps a loop has.
  int64_t work = 1 << 20;
  const EvaluateLimits worked{0, 1 << 20, &work};
  EXPECT_EQ(run(5, 100, worked), "");
  EXPECT_LT(work, 1 << 20);
  EXPECT_NE(run(1 << 20, 100, worked).find("are left of what a run in eager mode may take"),
            std::string::npos);
  EXPECT_GE(work, 0);
}

TEST(Bodies, AreVerified) {
  Graph graph = ParseGraph(kChoose);
  Graph& body = graph.node(graph.value(graph.FindValue("y")).producer).bodies[1];
  body.value(body.FindValue("x")).dtype = DType::kF16;
  body.value(body.FindValue("b")).dtype = DType::kInvalid;
  try {
    Verify(graph);
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("input 0 of its body 'else', 'x', is f16[n, 2], the node passes it f32"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace skiff
