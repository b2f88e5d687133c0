#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
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

/// A scale of ones for each element of 4 GiB.
TEST(RecognizeComposites, AScaleIsNotMadeOfWhatAnInputClaims) {
  Graph graph = ParseGraph(R"(graph g {
    input x: f32[2, 1073741824]
    const two: f32[] = 2
    const epsilon: f32[] = 1e-05
    mean = ReduceMean(x) {axes=[-1]}
    d = Sub(x, mean)
    square = Pow(d, two)
    variance = ReduceMean(square) {axes=[-1]}
    safe = Add(variance, epsilon)
    deviation = Sqrt(safe)
    y = Div(d, deviation)
    output y
  })");
  InferShapes(graph);
  RecognizeComposites(graph);
  EXPECT_LE(ConstantBytes(graph), 1024U);
}

}  // namespace
}  // namespace skiff
