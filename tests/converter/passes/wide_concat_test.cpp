#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

/// Each operand could lead the others, and lies in another way than all others.
TEST(ToNhwc, AConcatOfManyOperandsTriesFewLeaders) {
  std::string text = "graph g {\n";
  std::string list;
  for (int i = 0; i < 2000; ++i) {
    text +=
        fmt::format("  input x{0}: f32[2, {1}, 3]\n  t{0} = Transpose(x{0}) {{perm=[2, 1, 0]}}\n", i, i + 2);
    list += fmt::format("{}t{}", i == 0 ? "" : ", ", i);
  }
  Graph graph = ParseGraph(text + "  y = Concat(" + list + ") {axis=1}\n  output y\n}\n");
  InferShapes(graph);
  ToNhwc(graph);
  int transposes = 0;
  for (const NodeId id : graph.TopologicalOrder())
    transposes += graph.node(id).op == OpCode::kTranspose ? 1 : 0;
  EXPECT_EQ(transposes, 1) << "behind the concat";
}

}  // namespace
}  // namespace skiff
