// If. A sub-graph may read every tensor around its node; these become inputs of the body.
#include <algorithm>

#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// A branch as a graph whose outputs are the tensors that it returns, also those in sequences.
struct Branch {
  Graph graph;
  std::vector<std::optional<OnnxSequence>> results;  ///< Nothing where the result is a tensor.
};

Branch ImportBranch(const OnnxBuilder& b, const char* attribute) {
  Branch branch;
  branch.graph = b.ImportBody(attribute, {}, [&](Graph& graph, const std::vector<ValueId>& results) {
    const auto add = [&](ValueId value) { graph.AddOutput(graph.value(value).name, value); };
    for (const ValueId result : results) {
      if (!OnnxSequences::Is(result)) {
        add(result);
        branch.results.emplace_back();
        continue;
      }
      branch.results.emplace_back(b.SequenceOf(result));
      for (const OnnxSequence::Part& part : branch.results.back()->parts) add(part.value);
    }
  });
  if (branch.results.size() != b.output_count())
    b.Invalid("a branch returns {} values, the node {}", branch.results.size(), b.output_count());
  return branch;
}

std::string FormText(const std::optional<OnnxSequence>& result) {
  if (!result) return "a tensor";
  if (result->absent) return KindOf(*result);
  for (const OnnxSequence::Part& part : result->parts) {
    if (part.axis >= 0) return "a sequence of the slices of a tensor";
  }
  return fmt::format("a sequence of {} tensors", result->parts.size());
}

void CheckForms(const OnnxBuilder& b, const Branch& chosen, const Branch& other) {
  for (size_t i = 0; i < chosen.results.size(); ++i) {
    const auto& x = chosen.results[i];
    const auto& y = other.results[i];
    if (x.has_value() == y.has_value() && (!x || SameForm(*x, *y))) continue;
    OnnxBuilder::Unsupported(
        "returns as output '{}' {} from one branch and {} from the other, and only the run knows which it "
        "takes; "
        "let both return equally many tensors, or make the condition a constant (--set, where an input "
        "decides it)",
        b.node().output(static_cast<int>(i)), FormText(x), FormText(y));
  }
}

/// Where the condition is known, the other branch need not even be valid: exporters write one for each rank.
void OutputBranch(OnnxBuilder& b, const char* attribute) {
  const std::vector<ValueId> results = b.InlineBody(attribute, {}, "", true);
  if (results.size() != b.output_count())
    b.Invalid("a branch returns {} values, the node {}", results.size(), b.output_count());
  for (size_t i = 0; i < results.size(); ++i) b.OutputAs(i, results[i]);
}

void BuildIf(OnnxBuilder& b) {
  const ValueId condition = b.Input(0);
  const std::optional<TensorData> known = b.KnownValueOf(condition);
  if (known && known->dtype() == DType::kBool && known->elements() == 1)
    return OutputBranch(b, *known->as<uint8_t>() != 0 ? "then_branch" : "else_branch");
  Branch then_branch = ImportBranch(b, "then_branch");
  Branch else_branch = ImportBranch(b, "else_branch");
  CheckForms(b, then_branch, else_branch);
  std::vector<OnnxBuilder::PartialType> types;
  for (size_t i = 0; i < then_branch.graph.outputs().size(); ++i) {
    types.push_back(b.Common(OnnxBuilder::TypeOf(then_branch.graph, then_branch.graph.outputs()[i].value),
                             OnnxBuilder::TypeOf(else_branch.graph, else_branch.graph.outputs()[i].value)));
  }
  std::vector<int> places;
  for (size_t i = 0; i < then_branch.results.size(); ++i) {
    const auto& sequence = then_branch.results[i];
    places.insert(places.end(), sequence ? sequence->parts.size() : 1, sequence ? -1 : static_cast<int>(i));
  }
  std::vector<ValueId> inputs{condition};
  inputs.insert(inputs.end(), b.captured().begin(), b.captured().end());
  std::vector<Graph> bodies;
  bodies.push_back(std::move(then_branch.graph));
  bodies.push_back(std::move(else_branch.graph));
  std::vector<ValueId> made;
  if (!types.empty()) made = b.OutputBodies(OpCode::kIf, std::move(inputs), std::move(bodies), types, places);
  size_t next = 0;
  for (size_t i = 0; i < then_branch.results.size(); ++i) {
    if (!then_branch.results[i]) {
      ++next;
      continue;
    }
    OnnxSequence sequence = std::move(*then_branch.results[i]);
    for (OnnxSequence::Part& part : sequence.parts) part.value = made[next++];
    b.OutputSequence(i, std::move(sequence));
  }
}

constexpr OnnxOp kOps[] = {{"If", 1, kNewestOnnxOpset, BuildIf, OpCode::kIf}};

}  // namespace

std::span<const OnnxOp> OnnxControlOps() { return kOps; }

}  // namespace skiff
