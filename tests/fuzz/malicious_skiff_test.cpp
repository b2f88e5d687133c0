// Files that a person made to do harm: each passes the FlatBuffers verifier, and each was once taken for
// good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/fuzz/skiff_parts.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

using Damage = std::function<void(format::ModelT&, format::PlanT&)>;

std::vector<uint8_t> Damaged(const std::string& graph, const Damage& damage) {
  const Parts parts(OpenedModel(graph).converted->file);
  const std::unique_ptr<format::ModelT> model = parts.Unpack();
  damage(*model, *model->signatures[0]->plans[0]);
  return parts.Assemble(*model);
}

size_t Find(const format::PlanT& plan, const std::string& tensor) {
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i]->name == tensor) return i;
  }
  ADD_FAILURE() << "no tensor " << tensor;
  return 0;
}

/// Sets the extents of an input and of its port, so that both agree.
void Resize(format::ModelT& model, size_t input, const std::vector<int64_t>& extents) {
  format::SignatureT& signature = *model.signatures[0];
  signature.inputs[input]->extents = extents;
  signature.plans[0]->tensors[static_cast<size_t>(signature.plans[0]->inputs[input])]->extents = extents;
}

const char* const kActivations = R"(graph g {
  input x: f32[4, 8]
  a: f32[4, 8] = Tanh(x)
  y: f32[4, 8] = Sqrt(a)
  output y = y
})";

TEST(MaliciousSkiff, StridesThatOverflow) {
  const auto file = Damaged(kSmallNet, [](format::ModelT&, format::PlanT& plan) {
    for (const auto& tensor : plan.tensors) {
      if (tensor->row_stride != 0) tensor->row_stride = int64_t{1} << 60;
    }
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("bad stride"));
}

TEST(MaliciousSkiff, AnArenaBeyondItsTensors) {
  const auto file = Damaged(
      kActivations, [](format::ModelT&, format::PlanT& plan) { plan.arena_bytes = uint64_t{1} << 40; });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("the arena is larger than its tensors"));
}

/// The planned arena may be small because tensors share it; kept apart they must not wrap around.
TEST(MaliciousSkiff, TensorsTooLargeToKeep) {
  const int64_t rows = int64_t{1} << 41;
  const auto file = Damaged(kActivations, [&](format::ModelT& model, format::PlanT& plan) {
    Resize(model, 0, {rows, 8});
    for (const auto& tensor : plan.tensors) {
      tensor->extents = {rows, 8};
      tensor->view_of = -1;
      tensor->offset = 0;
    }
    plan.tensors[Find(plan, "a")]->offset = static_cast<uint64_t>(rows) * 32;
    plan.arena_bytes = static_cast<uint64_t>(rows) * 64;
  });
  EXPECT_THAT(OpenAndRun(file, true), ::testing::AnyOf(HasSubstr("too much memory"), HasSubstr("overflows"),
                                                       HasSubstr("memory limit")));
}

/// An input may be bound to the caller's memory, which nobody writes.
TEST(MaliciousSkiff, WritesOverAnInput) {
  const auto file = Damaged(kActivations, [](format::ModelT&, format::PlanT& plan) {
    for (const auto& tensor : plan.tensors) tensor->offset = 0;
    plan.arena_bytes = 4 * 8 * sizeof(float);
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("would overwrite graph input"));
}

/// No output element, but extents that a plain loop would walk for years.
TEST(MaliciousSkiff, EmptyTensorsOfEndlessExtents) {
  const int64_t many = int64_t{1} << 42;
  const auto file = Damaged(kActivations, [&](format::ModelT& model, format::PlanT& plan) {
    Resize(model, 0, {many, 0});
    for (const auto& tensor : plan.tensors) tensor->extents = {many, 0};
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("an empty tensor's extents are too large"));
}

/// Windows of 2^30 taps over a few elements are legal; they cost what the elements cost.
TEST(MaliciousSkiff, WindowsMuchLargerThanTheInput) {
  for (const char* pool : {"MaxPool2d", "AveragePool2d"}) {
    const std::string graph =
        std::string("graph g {\n  input x: f32[1, 8, 8, 2]\n  y: f32[1, 9, 9, 2] = ") + pool +
        "(x) {kernel=[1073741824, 1073741824], pads=[536870912, 536870912, 536870912, 536870912]}\n"
        "  output y = y\n}\n";
    EXPECT_EQ(OpenAndRun(OpenedModel(graph).converted->file), "");
  }
}

TEST(MaliciousSkiff, NodesOfThousandsOfOperands) {
  const auto file = Damaged(R"(graph g {
    input x: f32[1, 8]
    input z: f32[1, 8]
    y: f32[1, 16] = Concat(x, z) {axis=1}
    output y = y
  })",
                            [](format::ModelT&, format::PlanT& plan) {
                              plan.nodes[0]->inputs.resize(100000, plan.nodes[0]->inputs[0]);
                            });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("more than 4096 operands"));
}

/// More values than any shape rule reads at once are read where they lie.
TEST(MaliciousSkiff, SplitsOfManyPiecesAreNoDamage) {
  std::string graph = "graph g {\n  input x: f32[1, 40]\n  const sizes: i64[40] = [1";
  for (int i = 1; i < 40; ++i) graph += ", 1";
  graph += "]\n  p0: f32[1, 1]";
  for (int i = 1; i < 40; ++i) graph += ", p" + std::to_string(i) + ": f32[1, 1]";
  graph += " = Split(x, sizes) {axis=1}\n  y: f32[1, 1] = Add(p3, p39)\n  output y = y\n}\n";
  EXPECT_EQ(OpenAndRun(OpenedModel(graph).converted->file), "");
}

}  // namespace
}  // namespace skiff::testing
