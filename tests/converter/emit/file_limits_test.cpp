// What no loader takes is refused by name before a file is written.
#include "emit/file_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert.h"
#include "graph/error.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "plan/limits.h"

namespace skiff {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The sentence of the refusal; "" where the graph is converted.
std::string Refusal(Graph graph, const ConvertOptions& options = {}) {
  try {
    ConvertGraph(std::move(graph), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kUnsupported);
    return error.what();
  }
  return "";
}
std::string Refusal(const std::string& text) { return Refusal(ParseGraph(text)); }

/// Conditions in each other.
std::string Nested(int depth) {
  std::string inner;
  for (int level = depth - 1; level >= 0; --level) {
    const std::string result = inner.empty() ? "x" : fmt::format("y{}", level + 1);
    inner = fmt::format(
        "y{} = If(c, c, x) then {{ input c input x\n{} output {} }} else {{ input c input x output x }}\n",
        level, inner, result);
  }
  return fmt::format("graph g {{\n input c: bool[]\n input x: f32[2]\n {} output y0\n}}\n", inner);
}

TEST(FileLimits, BodiesInBodies) {
  EXPECT_EQ(Refusal(Nested(kMaxBodyDepth)), "");
  // Texts have limits of their own: the innermost body gets one more.
  Graph graph = ParseGraph(Nested(kMaxBodyDepth));
  Graph* innermost = &graph;
  for (int depth = 0; depth + 1 < kMaxBodyDepth; ++depth) innermost = &innermost->node(0).bodies[0];
  innermost->node(0).bodies[0] = ParseGraph(Nested(1));
  EXPECT_THAT(Refusal(std::move(graph)),
              AllOf(HasSubstr("node 'y0' (If)"), HasSubstr("16 in each other are the most")));
}

/// A shape program has no codes: what follows from some is told during the run, as from other data.
TEST(FileLimits, ShapesMayFollowFromCodes) {
  const char* const nets[] = {
      "  input x: i8[6] {scale=0.5, zero_point=3}\n  d = Dequantize(x)\n",
      "  input r: f32[6]\n  x: i8 {scale=0.5, zero_point=3} = Quantize(r)\n  d = Dequantize(x)\n"};
  for (const std::string net : nets) {
    const std::string text =
        "graph g {\n" + net +
        "  const up: i64[1] = [0]\n  c = Cast(d) {to=i64}\n  s = ReduceSum(c) {axes=[0]}\n"
        "  m = Max(s, up)\n  v: f32 = Fill(m) {value=1}\n  output v\n}\n";
    EXPECT_EQ(Refusal(text), "") << text;
  }
}

/// Each shape follows from elements whose shape does.
std::string Stages(int count) {
  std::string text = "graph g {\n  input t0: f32[4000]\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format("  m{0} = Cast(t{0}) {{to=bool}}\n", i);
    text += fmt::format("  i{0} = Cast(m{0}) {{to=i64}}\n", i);
    text += fmt::format("  n{0} = ReduceSum(i{0}) {{axes=[0], keep_dims=false}}\n", i);
    text += fmt::format("  p{0} = NonZero(m{0}, n{0})\n", i);
    text += fmt::format("  q{0} = Cast(p{0}) {{to=f32}}\n", i);
    text += fmt::format("  t{1} = ReduceSum(q{0}) {{axes=[0], keep_dims=false}}\n", i, i + 1);
  }
  return text + fmt::format("  output t{}\n}}\n", count);
}

TEST(FileLimits, Stages) {
  EXPECT_EQ(Refusal(Stages(kMaxBodyDepth)), "");
  EXPECT_THAT(Refusal(Stages(kMaxBodyDepth + 1)), AllOf(HasSubstr("'p16'"), HasSubstr("17 times in a row")));
  EXPECT_THAT(Refusal(Stages(300)), HasSubstr("17 times in a row"));
}

TEST(FileLimits, Operands) {
  std::string list = "a";
  for (size_t i = 1; i < kMaxOperands; ++i) list += ", a";
  EXPECT_THAT(
      Refusal("graph g { input x: f32[3] a = Neg(x) y = Concat(" + list + ") {axis=0} output y }"),
      AllOf(HasSubstr("node 'y' (Concat)"), HasSubstr("has 4096 inputs and 1 outputs; 4096 together")));
}

TEST(FileLimits, Inputs) {
  std::string text = "graph g {\n";
  for (size_t i = 0; i <= kMaxInputs; ++i) text += fmt::format("  input x{}: f32[2]\n", i);
  EXPECT_THAT(Refusal(text + "  y = Neg(x0)\n  output y\n}\n"), HasSubstr("4097 inputs, 'x0' and others"));
}

TEST(FileLimits, Dimensions) {
  const auto refusal = [](const std::string& range) {
    return Refusal("graph g {\n  symbol n: " + range + "\n  input x: f32[n] y = Neg(x) output y }");
  };
  EXPECT_EQ(refusal("1..4611686018427387904"), "") << "its largest sizes are met by no input";
  EXPECT_THAT(refusal("140737488355328.."), HasSubstr("dimension 'n' begins at 140737488355328"));
  EXPECT_THAT(refusal("1.. multiple 9223372036854775807"),
              HasSubstr("dimension 'n' begins at 1, in steps of 9223372036854775807"));
}

/// Each tensor is one that can be, all of them at once are too much, wherever they are.
TEST(FileLimits, TheArena) {
  std::string text = "graph g {\n  input x: f32[274877906944]\n";
  for (int i = 0; i < 80; ++i)
    text += fmt::format("  const c{0}: f32[] = {0}.5\n  y{0} = Add(x, c{0})\n  output y{0}\n", i);
  EXPECT_EQ(Refusal("graph g { input x: f32[274877906944] y = Neg(x) output y }"), "");
  EXPECT_THAT(Refusal(text + "}\n"), AllOf(HasSubstr("need more than 70368744177664 bytes at once"),
                                           HasSubstr("'x' with 1099511627776")));
}

/// Each plan has a list of its own, whose outputs a loader compares with the inputs.
TEST(FileLimits, PortsOfPlans) {
  PlanDraft draft;
  draft.inputs.resize(4000);
  draft.outputs.resize(4000);
  FileLimits limits;
  for (size_t references = 0; references + 4000 * 64 <= kMaxReferences; references += 4000 * 64)
    EXPECT_NO_THROW(limits.Add(draft));
  EXPECT_THROW(limits.Add(draft), Error);
}

TEST(FileLimits, Labels) {
  ConvertOptions options;
  options.labels.resize(kMaxReferences / 2, "one of many");
  const std::string net = fmt::format("graph g {{\n  input x: f32[1, {}]\n", kMaxReferences / 2);
  const std::string outputs = "  y = Clamp(x) {max=0}\n  output y\n  z = Clamp(x) {min=0}\n  output z\n}\n";
  EXPECT_THAT(Refusal(ParseGraph(net + outputs), options),
              AllOf(HasSubstr("outputs have more labels"), HasSubstr("--labels")));
}

/// A text that many have is in the file once.
TEST(FileLimits, LabelsOfSeveralOutputsAreStoredOnce) {
  ConvertOptions options;
  options.labels = {std::string(100'000, 'a'), "b"};
  std::string text = "graph g {\n  input x: f32[1, 2]\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("  y{0} = Clamp(x) {{max={0}}}\n  output y{0}\n", i);
  EXPECT_LT(ConvertGraph(ParseGraph(text + "}\n"), options)->file.size(), 200'000u);
}

/// They would end there, and two be one.
TEST(FileLimits, NamesWithZeroBytes) {
  const std::string name("x\0b", 3);
  Graph graph;
  const ValueId x = graph.AddInput(name, DType::kF32, {2});
  graph.AddOutput("y", graph.Emit(OpCode::kNeg, {x}));
  EXPECT_THAT(Refusal(std::move(graph)), HasSubstr("the name 'x\\0b' has a zero byte"));
  Graph open;
  const Dim rows = Dim::OfSymbol(open.AddSymbol(name));
  open.AddOutput("y", open.Emit(OpCode::kNeg, {open.AddInput("x", DType::kF32, {rows})}));
  EXPECT_THAT(Refusal(std::move(open)), HasSubstr("the name 'x\\0b' has a zero byte"));
}

TEST(FileLimits, Tables) {
  FileLimits limits;
  limits.AddTables(kMaxTables);
  EXPECT_THROW(limits.AddTables(1), Error);
}

}  // namespace
}  // namespace skiff
