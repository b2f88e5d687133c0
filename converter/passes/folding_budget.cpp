#include "passes/folding_budget.h"

#include <algorithm>

#include "core/extents.h"
#include "ops/op_codes.h"
#include "plan/work.h"

namespace skiff {
namespace {

/// New constants may add this to those of the source, and as many bytes as these so many times.
constexpr int64_t kMostAdded = int64_t{256} << 20;
constexpr int64_t kMaxGrowth = 4;
/// Multiply-adds and bytes moved, and so many for each byte of the source's constants: about two seconds, and
/// for a large net a part of what its conversion takes anyway.
constexpr int64_t kMostWork = int64_t{1} << 33;
constexpr int64_t kWorkPerByte = 256;
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
  FoldingBudget& budget = graph.folding;
  if (budget.bytes >= 0) return budget;
  const int64_t bytes = ConstantBytes(graph);
  budget = {kMostAdded + kMaxGrowth * bytes, kMostWork + kWorkPerByte * bytes};
  return budget;
}

bool Take(int64_t& left, int64_t wanted) {
  if (wanted > left) return false;
  left -= std::max<int64_t>(wanted, 0);
  return true;
}

/// Beside the operators that multiply matrices: windows, and what may look at all of one operand for each
/// element of another.
uint64_t StepsOf(const Graph& graph, const Node& node) {
  const Shape& out = graph.value(node.outputs[0]).shape();
  const Shape& in = graph.value(node.inputs[0]).shape();
  const auto results = static_cast<uint64_t>(out.elements());
  uint64_t largest = static_cast<uint64_t>(in.elements());
  switch (node.op) {
    case OpCode::kMaxPool2d:
    case OpCode::kMaxPool2dIndices:
    case OpCode::kAveragePool2d: {
      const Ints& kernel = node.As<Pool2dAttrs>().kernel;
      return SaturatingMultiply(results, static_cast<uint64_t>(std::min(kernel[0], in[1])) *
                                             static_cast<uint64_t>(std::min(kernel[1], in[2])));
    }
    case OpCode::kRoiAlign:
    case OpCode::kNonMaxSuppression:
    case OpCode::kTreeEnsemble:
    case OpCode::kDet:
      for (const ValueId input : node.inputs) {
        if (input != kNoValue)
          largest = std::max(largest, static_cast<uint64_t>(graph.value(input).shape().elements()));
      }
      return SaturatingMultiply(std::max(results, static_cast<uint64_t>(in.elements())), largest);
    default:
      return 0;
  }
}

}  // namespace

bool TakeFoldingBytes(Graph& graph, int64_t bytes) { return Take(BudgetOf(graph).bytes, bytes); }

bool TakeNumberWork(Graph& graph, int64_t count) {
  return count <= INT64_MAX / kStepsPerNumber && Take(BudgetOf(graph).work, kStepsPerNumber * count);
}

std::optional<std::vector<double>> TakeNumbers(Graph& graph, const TensorData& data) {
  if (!TakeNumberWork(graph, data.elements())) return {};
  return data.ToDoubles();
}

bool TakeFoldingCopy(Graph& graph, ValueId constant) {
  const Value& value = graph.value(constant);
  return value.uses.size() <= 1 ||
         TakeFoldingBytes(graph, static_cast<int64_t>(value.constant->size_bytes()));
}

bool TakeFoldingWork(Graph& graph, const Node& node) {
  std::vector<PlanTensor> tensors;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  const auto add = [&](ValueId id) {
    if (id == kNoValue) return -1;
    const Value& value = graph.value(id);
    tensors.emplace_back().view = TensorView(nullptr, value.dtype, value.shape());
    return static_cast<int32_t>(tensors.size() - 1);
  };
  for (const ValueId input : node.inputs) inputs.push_back(add(input));
  for (const ValueId output : node.outputs) outputs.push_back(add(output));
  const PlanNode view{
      FindOp(node.op), &node.attrs, "", {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, {}};
  const Work work = WorkOf(view, {tensors.data(), tensors.size()});
  const uint64_t steps = SaturatingAdd(SaturatingAdd(work.multiply_adds, work.bytes), StepsOf(graph, node));
  return Take(BudgetOf(graph).work, static_cast<int64_t>(std::min<uint64_t>(steps, INT64_MAX)));
}

}  // namespace skiff
