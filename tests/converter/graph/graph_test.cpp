#include "graph/graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

TEST(Graph, NamesAreMadeUnique) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const ValueId y = graph.Emit(OpCode::kNeg, {x}, NoAttrs(), "x");
  const ValueId z = graph.Emit(OpCode::kNeg, {x});
  EXPECT_EQ(graph.value(y).name, "x_1");
  EXPECT_EQ(graph.value(z).name, "Neg");
  EXPECT_EQ(graph.FindValue("x_1"), y);
  EXPECT_EQ(graph.FindValue("nobody"), kNoValue);
}

TEST(Graph, ManyValuesOfOneName) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  graph.AddInput("x_3", DType::kF32, {2});
  for (int i = 0; i < 100'000; ++i) graph.Emit(OpCode::kNeg, {x}, NoAttrs(), "x");
  EXPECT_EQ(graph.value(3).name, "x_2");
  EXPECT_EQ(graph.value(4).name, "x_4") << "x_3 is taken";
  EXPECT_EQ(graph.value(graph.value_count() - 1).name, "x_100001");
}

TEST(Graph, ACopyIsIndependent) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  Graph copy = graph;
  copy.Emit(OpCode::kNeg, {x}, NoAttrs(), "y");
  EXPECT_EQ(graph.FindValue("y"), kNoValue);
  EXPECT_TRUE(graph.value(x).uses.empty());
  graph.Emit(OpCode::kExp, {x}, NoAttrs(), "y");
  EXPECT_EQ(graph.value(graph.FindValue("y")).name, "y");
}

TEST(Graph, ReplacingUsesReachesNodesAndOutputs) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const ValueId y = graph.Emit(OpCode::kNeg, {x});
  const ValueId z = graph.Emit(OpCode::kMul, {y, y});
  graph.AddOutput("y", y);
  graph.ReplaceUses(y, x);
  EXPECT_EQ(graph.node(graph.value(z).producer).inputs, (std::vector<ValueId>{x, x}));
  EXPECT_EQ(graph.outputs()[0].value, x);
  EXPECT_TRUE(graph.value(y).uses.empty());
  EXPECT_EQ(graph.value(x).uses.size(), 3u);
}

/// With the list of uses gone through for each of them this takes minutes.
TEST(Graph, ManyUsesMoveAndGoTogether) {
  constexpr size_t kUses = 400'000;
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const ValueId y = graph.Emit(OpCode::kNeg, {x});
  const ValueId before = graph.Emit(OpCode::kExp, {x});
  const ValueId all = graph.Emit(OpCode::kConcat, std::vector<ValueId>(kUses, y), AxisAttrs());
  graph.ReplaceUses(y, x);
  const NodeId concat = graph.value(all).producer;
  EXPECT_EQ(graph.node(concat).inputs, std::vector<ValueId>(kUses, x));
  const std::vector<Use>& uses = graph.value(x).uses;
  ASSERT_EQ(uses.size(), kUses + 2);
  EXPECT_EQ(uses[1], (Use{graph.value(before).producer, 0})) << "those from before come first";
  EXPECT_EQ(uses[2], (Use{concat, 0}));
  EXPECT_EQ(uses.back(), (Use{concat, static_cast<int>(kUses) - 1})) << "in order";
  graph.RemoveNode(concat);
  EXPECT_EQ(uses.size(), 2u);
  EXPECT_EQ(graph.node(concat).inputs, std::vector<ValueId>(kUses, kNoValue));
}

TEST(Graph, OnlyUserCountsTheGraphsOutputs) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const ValueId y = graph.Emit(OpCode::kNeg, {x});
  EXPECT_EQ(graph.OnlyUser(x), graph.value(y).producer);
  graph.AddOutput("x", x);
  EXPECT_EQ(graph.OnlyUser(x), kNoNode);
}

TEST(Graph, OrderFollowsPositionsWhereItMay) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const NodeId first = graph.value(graph.Emit(OpCode::kNeg, {x})).producer;
  const NodeId second = graph.value(graph.Emit(OpCode::kExp, {x})).producer;
  // A node that replaces the first one runs where that ran, though it was made last.
  const NodeId instead = graph.value(graph.Emit(OpCode::kAbs, {x}, NoAttrs(), "", first)).producer;
  graph.RemoveNode(first);
  EXPECT_EQ(graph.TopologicalOrder(), (std::vector<NodeId>{instead, second}));
}

TEST(Graph, ACycleIsAnError) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const ValueId y = graph.Emit(OpCode::kAdd, {x, x}, ClampAttrs());
  const ValueId z = graph.Emit(OpCode::kNeg, {y});
  graph.SetInput(graph.value(y).producer, 1, z);
  EXPECT_THROW(graph.TopologicalOrder(), Error);
}

TEST(Graph, NotesReachAllMergedSources) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const NodeId a = graph.value(graph.Emit(OpCode::kNeg, {x})).producer;
  const NodeId b = graph.value(graph.Emit(OpCode::kNeg, {x})).producer;
  graph.node(a).sources = {graph.AddSource("one", "Neg")};
  graph.node(b).sources = {graph.AddSource("two", "Neg")};
  graph.MergeSources(a, b);
  graph.MergeSources(a, b);
  graph.Note(a, "merged");
  EXPECT_EQ(graph.node(a).sources.size(), 2u);
  ASSERT_EQ(graph.sources()[1].notes.size(), 1u);
  EXPECT_EQ(*graph.sources()[1].notes[0], "merged");
}

/// A chain of nodes that merge: without a limit each would stand for all in front of it.
TEST(Graph, ANodeStandsForSoManySources) {
  constexpr NodeId kNodes = 30'000;
  Graph graph;
  ValueId last = graph.AddInput("x", DType::kF32, {2});
  for (NodeId i = 0; i < kNodes; ++i) {
    last = graph.Emit(OpCode::kNeg, {last});
    graph.node(i).sources = {graph.AddSource(fmt::format("n{}", i), "Neg")};
  }
  for (NodeId i = 1; i < kNodes; ++i) {
    graph.MergeSources(i, i - 1);
    graph.Note(i, "merged");
  }
  EXPECT_EQ(graph.node(kNodes - 1).sources.size(), Graph::kMostSources);
  EXPECT_EQ(graph.node(kNodes - 1).sources[0], kNodes - 1) << "its own comes first";
  size_t notes = 0;
  for (const SourceNode& source : graph.sources()) {
    ASSERT_GE(source.notes.size(), 1u);
    notes += source.notes.size();
  }
  EXPECT_LE(notes, kNodes * (Graph::kFreeNotes + 1) + Graph::kMoreNotes);
  EXPECT_GE(graph.sources()[0].notes.size(), Graph::kMostSources) << "no limit for one source";
  EXPECT_EQ(*graph.sources()[kNodes / 2].notes.back(), "and more, for which there is no room here");
}

TEST(Graph, SourcesWithoutRoomAreToldOfTheNode) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {2});
  const NodeId kept = graph.value(graph.Emit(OpCode::kNeg, {x})).producer;
  for (size_t i = 0; i <= Graph::kMostSources; ++i) {
    const NodeId twin = graph.value(graph.Emit(OpCode::kNeg, {x})).producer;
    graph.node(twin).sources = {graph.AddSource(fmt::format("n{}", i), "Neg")};
    graph.MergeSources(kept, twin);
  }
  EXPECT_TRUE(graph.sources()[Graph::kMostSources - 1].notes.empty());
  ASSERT_EQ(graph.sources()[Graph::kMostSources].notes.size(), 1u);
  EXPECT_EQ(*graph.sources()[Graph::kMostSources].notes[0],
            "became a part of 'Neg_0' with more than 256 others");
}

/// Strides are products of the other extents, which kernels compute all the same.
TEST(Evaluate, RefusesExtentsThatOverflowBesideAZero) {
  const Graph graph = ParseGraph(R"(graph g {
    input nothing: f32[0, 1, 1]
    input shape: i64[3]
    y = Expand(nothing, shape)
    output y
  })");
  const auto run = [&](const std::vector<int64_t>& shape) {
    return Evaluate(graph, {{"nothing", TensorData(DType::kF32, Shape{0, 1, 1})},
                            {"shape", TensorData::OfInts(shape)}})
        .at("y")
        .shape();
  };
  EXPECT_TRUE(run({0, 2, 3}) == (Shape{0, 2, 3}));
  for (const int64_t huge : {int64_t{1} << 62, int64_t{1} << 31}) {
    try {
      run({0, huge, huge});
      ADD_FAILURE() << huge;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'y' (Expand): the output [0, "), std::string::npos);
    }
  }
}

/// What is open has no number that an error could print.
TEST(Types, OpenExtentsThatNeverMeetAreRefusedWithoutNumbers) {
  const auto refusal = [](const char* operation) {
    Graph graph = ParseGraph(fmt::format(
        "graph g {{ symbol n: 2..3 symbol m: 5..8 input a: f32[4, n] input b: f32[m, 4] y = {} }}",
        operation));
    try {
      InferNode(graph, graph.value(graph.FindValue("y")).producer);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_NE(refusal("MatMul(a, b)").find("the inner extents are not equal at any size"), std::string::npos);
  EXPECT_NE(refusal("Add(a, b)").find("cannot be broadcast with the inputs before it at any size: axis -1"),
            std::string::npos);
}

/// Each product wraps around to few bytes.
TEST(TensorData, RefusesShapesThatNoTensorHas) {
  const Shape shapes[] = {Shape{INT64_MAX}, Shape{int64_t{1} << 62},
                          Shape{int64_t{1} << 32, int64_t{1} << 32}, Shape{int64_t{1} << 40, 0}, Shape{-1}};
  for (const Shape& shape : shapes) {
    EXPECT_THROW(TensorData(DType::kF32, shape), Error);
    EXPECT_THROW(TensorData(DType::kF32, shape, nullptr), Error);
    EXPECT_THROW(TensorData(DType::kF32, shape, std::make_unique<std::string>()), Error);
  }
  EXPECT_EQ(TensorData(DType::kF32, Shape{1 << 20, 0}).elements(), 0);
}

TEST(TensorData, ReshapedSharesTheElements) {
  const TensorData data = TensorData::OfFloats({1, 2, 3, 4});
  EXPECT_EQ(data.Reshaped(Shape{2, 2}).data(), data.data());
  EXPECT_THROW(data.Reshaped(Shape{3}), Error);
}

}  // namespace
}  // namespace skiff
