#include "passes/folding_budget.h"

#include <algorithm>

#include "graph/op_steps.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// New constants may add this to those of the source, and as many bytes as these so many times.
constexpr int64_t kMostAdded = int64_t{256} << 20;
constexpr int64_t kMaxGrowth = 4;
/// Graphs of one file may have the same constants: of more than so many, each has a share of what these
/// allow.
constexpr int64_t kMostWithTheirOwn = 16;
/// To compute with an element in double, and to round it again.
constexpr int64_t kStepsPerNumber = 64;

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).constant) bytes += static_cast<int64_t>(graph.value(id).constant->size_bytes());
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    for (const Graph& body : graph.node(id).bodies) bytes += ConstantBytes(body);
  }
  return bytes;
}

FoldingBudget& BudgetOf(Graph& graph) {
  if (graph.folding.bytes < 0) ShareFoldingBudget(graph, 1);
  return graph.folding;
}

bool Take(int64_t& left, int64_t wanted) {
  if (wanted > left) return false;
  left -= std::max<int64_t>(wanted, 0);
  return true;
}

}  // namespace

void ShareFoldingBudget(Graph& graph, size_t graphs) {
  const auto count = static_cast<int64_t>(graphs);
  const int64_t bytes = ConstantBytes(graph) / std::max<int64_t>(1, count / kMostWithTheirOwn);
  graph.folding = {kMostAdded / count + kMaxGrowth * bytes,
                   kMostStepsAhead / count + kStepsAheadPerByte * bytes};
}

bool TakeFoldingBytes(Graph& graph, int64_t bytes) { return Take(BudgetOf(graph).bytes, bytes); }

bool TakeNumberWork(Graph& graph, int64_t count) {
  return count <= INT64_MAX / kStepsPerNumber && Take(BudgetOf(graph).work, kStepsPerNumber * count);
}

std::optional<std::vector<double>> TakeNumbers(Graph& graph, const TensorData& data) {
  if (!TakeNumberWork(graph, data.elements())) return {};
  return data.ToDoubles();
}

std::optional<std::vector<int64_t>> CountedIntConstant(Graph& graph, ValueId value) {
  if (value == kNoValue || !graph.value(value).constant) return {};
  if (!TakeNumberWork(graph, graph.value(value).constant->elements())) return {};
  return IntConstant(graph, value);
}

bool TakeFoldingCopy(Graph& graph, ValueId constant) {
  const Value& value = graph.value(constant);
  return value.uses.size() <= 1 ||
         TakeFoldingBytes(graph, static_cast<int64_t>(value.constant->size_bytes()));
}

bool TakeFoldingWork(Graph& graph, const Node& node) {
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  const auto view = [&](ValueId id) {
    const Value& value = graph.value(id);
    return TensorView(nullptr, value.dtype, value.shape());
  };
  for (const ValueId input : node.inputs) inputs.push_back(input == kNoValue ? TensorView() : view(input));
  for (const ValueId output : node.outputs) outputs.push_back(view(output));
  std::vector<const TensorView*> present;
  for (size_t i = 0; i < inputs.size(); ++i)
    present.push_back(node.inputs[i] == kNoValue ? nullptr : &inputs[i]);
  const uint64_t steps = StepsOf(node.op, node.attrs, present, outputs);
  return Take(BudgetOf(graph).work, static_cast<int64_t>(std::min<uint64_t>(steps, INT64_MAX)));
}

}  // namespace skiff
