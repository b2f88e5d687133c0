#include "graph/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/error.h"
#include "graph/text.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

Graph Sound() {
  return ParseGraph(R"(graph sound {
    input x: f32[2, 3]
    const c: f32[3] = [1, 2, 3]
    a: f32[2, 3] = Add(x, c)
    l: f32[1, 3], r: f32[1, 3] = Split(a, _) {axis=0, parts=2}
    y: f32[1, 3] = Mul(l, r)
    output y
  })");
}

TEST(Verify, AcceptsASoundGraph) { EXPECT_NO_THROW(Verify(Sound())); }

TEST(Verify, AcceptsValuesWithoutTypes) {
  EXPECT_NO_THROW(Verify(ParseGraph("graph g { input x: f32[n] y = Neg(x) output y }")));
}

TEST(Verify, AValueMayHaveManyUses) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {1});
  for (int i = 0; i < 10; ++i)
    graph.AddOutput(std::to_string(i),
                    graph.Emit(OpCode::kConcat, std::vector<ValueId>(20'000, x), AxisAttrs{0}));
  EXPECT_NO_THROW(Verify(graph));
}

struct Damage {
  const char* name;
  std::function<void(Graph&)> apply;
  const char* message;
};

void PrintTo(const Damage& damage, std::ostream* stream) { *stream << damage.name; }

class Broken : public testing::TestWithParam<Damage> {};

TEST_P(Broken, IsNamed) {
  Graph graph = Sound();
  GetParam().apply(graph);
  try {
    Verify(graph);
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
  }
}

NodeId NodeOf(const Graph& graph, const char* value) { return graph.value(graph.FindValue(value)).producer; }

INSTANTIATE_TEST_SUITE_P(
    Graphs, Broken,
    testing::Values(
        Damage{"TooManyInputs",
               [](Graph& graph) { graph.SetInput(NodeOf(graph, "a"), 2, graph.FindValue("x")); },
               "node 'a' (Add), which comes from Add 'a': it has 3 inputs, the operator takes 2 to 2"},
        Damage{"MissingInput", [](Graph& graph) { graph.SetInput(NodeOf(graph, "a"), 1, kNoValue); },
               "input 1 is missing"},
        Damage{"ForgottenUse", [](Graph& graph) { graph.value(graph.FindValue("c")).uses.clear(); },
               "input 1, 'c', does not list this use exactly once"},
        Damage{"InventedUse",
               [](Graph& graph) {
                 graph.value(graph.FindValue("x")).uses.push_back({NodeOf(graph, "y"), 0});
               },
               "the value 'x' lists a use that does not exist"},
        Damage{"RemovedProducer", [](Graph& graph) { graph.RemoveNode(NodeOf(graph, "a")); },
               "nothing makes input 0, 'a'"},
        Damage{"WrongProducer",
               [](Graph& graph) { graph.value(graph.FindValue("r")).producer = NodeOf(graph, "y"); },
               "output 1, 'r', names another producer"},
        Damage{"WrongOutputIndex", [](Graph& graph) { graph.value(graph.FindValue("r")).output_index = 0; },
               "output 1, 'r', names another producer"},
        Damage{"WrongShape", [](Graph& graph) { graph.value(graph.FindValue("y")).dims[1] = Dim(4); },
               "output 0, 'y', is f32[1, 4], the shape rule says f32[1, 3]"},
        Damage{"WrongDType", [](Graph& graph) { graph.value(graph.FindValue("y")).dtype = DType::kF16; },
               "output 0, 'y', is f16[1, 3], the shape rule says f32[1, 3]"},
        Damage{"SameNames", [](Graph& graph) { graph.value(graph.FindValue("l")).name = "r"; },
               "two values have the name 'r'"},
        Damage{"ConstantOfAnotherType",
               [](Graph& graph) { graph.value(graph.FindValue("c")).dims[0] = Dim(1); },
               "the constant 'c' has another type than its elements"},
        Damage{"ComputedConstant",
               [](Graph& graph) {
                 graph.value(graph.FindValue("y")).constant = TensorData(DType::kF32, Shape{1, 3});
               },
               "output 0, 'y', is also a constant or a graph input"},
        Damage{"LostOutput", [](Graph& graph) { graph.RemoveNode(NodeOf(graph, "y")); },
               "nothing makes the output 'y'"},
        Damage{"Cycle",
               [](Graph& graph) {
                 graph.value(graph.FindValue("a")).dtype = DType::kInvalid;
                 graph.SetInput(NodeOf(graph, "a"), 1, graph.FindValue("y"));
               },
               "the graph has a cycle through node"}),
    [](const auto& info) { return std::string(info.param.name); });

/// The symbols of extents that the rule cannot tell are none of the graph's.
TEST(Verify, NamesExtentsThatTheRuleCannotTell) {
  const Graph graph = ParseGraph(R"(graph g {
    input x: f32[2, 3, 4]
    const given: i64[4] = [1, 2, 3, 4]
    const to: i64[4] = [5, 2, 2, 4]
    a: f32[1, n, 3, 4] = Reshape(x, given)
    y: f32[5, 2, 3, 42] = Expand(a, to)
    output y
  })");
  try {
    Verify(graph);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'y', is f32[5, 2, 3, 42], the shape rule says f32[y#"),
              std::string::npos)
        << error.what();
  }
}

TEST(Verify, AcceptsAFunctionWithoutResults) {
  EXPECT_NO_THROW(Verify(ParseGraph("graph g { input x: f32[2] y = Neg(x) }")));
}

}  // namespace
}  // namespace skiff
