#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/passes.h"

namespace skiff {
namespace {

/// Loops in each other, each with variables that an iteration makes longer, `v`, one after the other.
std::string Loop(int level, int depth, int variables) {
  std::string names = "i", results = "next", inputs = "input i\n", outputs = "output next\n";
  std::string body, last = "i";
  for (int k = 0; k < variables; ++k) {
    names += fmt::format(", v{}", k);
    inputs += fmt::format("input v{}\n", k);
    outputs += fmt::format("output w{}\n", k);
  }
  std::string from = "v";
  if (level < depth) {
    body += Loop(level + 1, depth, variables);
    from = "r";
  }
  body += fmt::format("w0 = Concat({0}0, {0}{1}) {{axis=0}}\n", from, variables - 1);
  for (int k = 1; k < variables; ++k) body += fmt::format("w{} = Neg({}{})\n", k, from, k - 1);
  std::string made = "j";
  for (int k = 0; k < variables; ++k) made += fmt::format(", r{}", k);
  return fmt::format(
      "{} = While({}) condition {{\n{}const six: i64[] = 6\ngo = Less(i, six)\noutput go\n}} body {{\n{}"
      "const one: i64[] = 1\nnext = Add(i, one)\n{}{}}}\n",
      made, names, inputs, inputs, body, outputs);
}

Graph Nested(int depth, int variables) {
  std::string text = "graph g {\n  input i: i64[]\n";
  for (int k = 0; k < variables; ++k) text += fmt::format("  input v{}: f32[2, 3]\n", k);
  return ParseGraph(text + Loop(1, depth, variables) + "output r0\n}\n");
}

/// A loop that is typed again, because one around it is, does not begin anew: its rounds would multiply.
TEST(LoopExtents, LoopsInLoops) {
  Graph graph = Nested(15, 3);
  RunPipeline(graph);
  const Value& result = graph.value(graph.outputs()[0].value);
  ASSERT_EQ(result.dims.size(), 2U);
  EXPECT_FALSE(result.dims[0].constant());
  EXPECT_EQ(result.dims[0].bounds().min, 2);
  EXPECT_EQ(result.dims[1], Dim(3));
  EXPECT_LE(graph.symbols().size(), 4096U);
}

/// A change that reaches a variable after hundreds of rounds is expected of all before.
TEST(LoopExtents, LongChains) {
  Graph graph = Nested(1, 400);
  InferShapes(graph);
  EXPECT_FALSE(graph.value(graph.outputs()[0].value).dims[0].constant());
}

}  // namespace
}  // namespace skiff
