// Names of source tensors outlive the nodes that made them: layer-by-layer parity finds its tensors by them.
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

Graph Typed(const char* text) {
  Graph graph = ParseGraph(text);
  InferShapes(graph);
  return graph;
}

std::string SourceOf(const Graph& graph, const char* value) {
  return graph.value(graph.FindValue(value)).source;
}

std::vector<int64_t> PermOf(const Graph& graph, const char* value) {
  const Ints& perm = graph.value(graph.FindValue(value)).source_perm;
  return {perm.begin(), perm.end()};
}

TEST(Sources, AFusedNodeHoldsWhatTheLastOneDid) {
  Graph graph = Typed(R"(graph g {
    input x: f32[1, 2, 2, 2]
    const w: f32[2, 1, 1, 2] = seed 1
    const b: f32[2] = [1, 2]
    conv = Conv2d(x, w)
    sum = Add(conv, b)
    y = Clamp(sum) {min=0}
    output y
  })");
  FuseLinear(graph);
  FuseActivation(graph);
  const Node& conv = graph.node(graph.value(graph.FindValue("y")).producer);
  EXPECT_EQ(conv.op, OpCode::kConv2d);
  EXPECT_EQ(SourceOf(graph, "y"), "y");
  EXPECT_EQ(conv.sources.size(), 3u);
}

TEST(Sources, WhatARemovedNodeReadTakesItsSource) {
  Graph graph = Typed("graph g { input x: f32[2] a = Neg(x) y = Identity(a) z = Exp(y) output z }");
  graph.value(graph.FindValue("a")).source.clear();
  Canonicalize(graph);
  EXPECT_EQ(SourceOf(graph, "a"), "y");
}

TEST(Sources, ASourceThatIsThereStays) {
  Graph graph = Typed("graph g { input x: f32[2] a = Neg(x) y = Identity(a) z = Exp(y) output z }");
  Canonicalize(graph);
  EXPECT_EQ(SourceOf(graph, "a"), "a");
}

TEST(Sources, ATransposeThatCancelsHandsItsSourceBack) {
  Graph graph = Typed(R"(graph g {
    input x: f32[1, 2, 3, 4]
    a = Neg(x)
    nchw = Transpose(a) {perm=[0, 3, 1, 2]}
    nhwc = Transpose(nchw) {perm=[0, 2, 3, 1]}
    y = Exp(nhwc)
    output y
  })");
  graph.value(graph.FindValue("a")).source.clear();
  Canonicalize(graph);
  // a is nchw with the axes [0, 2, 3, 1].
  EXPECT_EQ(SourceOf(graph, "a"), "nchw");
  EXPECT_EQ(PermOf(graph, "a"), (std::vector<int64_t>{0, 2, 3, 1}));
}

TEST(Sources, WhatIsNoSourceTensorHasNoName) {
  Graph graph = Typed(R"(graph g {
    input x: f32[4, 3]
    const scale: f32[3] = [1, 2, 3]
    const bias: f32[3] = [1, 2, 3]
    const mean: f32[3] = [1, 2, 3]
    const variance: f32[3] = [1, 2, 3]
    y = BatchNorm(x, scale, bias, mean, variance)
    output y
  })");
  FoldBatchNorm(graph);
  EXPECT_EQ(SourceOf(graph, "y.product"), "");
  EXPECT_EQ(SourceOf(graph, "y"), "y");
}

}  // namespace
}  // namespace skiff
