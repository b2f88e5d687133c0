#include "tests/converter/passes/layout_count.h"

#include <algorithm>

#include "ops/op_codes.h"
#include "passes/layout/plan.h"

namespace skiff {
namespace {

/// By value: whether it depends on a Conv2d (`forward`), or a Conv2d depends on it.
std::vector<bool> Reached(const Graph& graph, bool forward) {
  std::vector<NodeId> order = graph.TopologicalOrder();
  if (!forward) std::reverse(order.begin(), order.end());
  std::vector<bool> reached(static_cast<size_t>(graph.value_count()), false);
  for (NodeId id : order) {
    const Node& node = graph.node(id);
    const std::vector<ValueId>& from = forward ? node.inputs : node.outputs;
    const std::vector<ValueId>& to = forward ? node.outputs : node.inputs;
    const bool reaches =
        node.op == OpCode::kConv2d || std::any_of(from.begin(), from.end(), [&](ValueId value) {
          return value != kNoValue && reached[static_cast<size_t>(value)];
        });
    for (ValueId value : to) {
      if (reaches && value != kNoValue) reached[static_cast<size_t>(value)] = true;
    }
  }
  return reached;
}

}  // namespace

LayoutCount CountLayoutTransposes(const Graph& graph) {
  LayoutCount count;
  const std::vector<bool> behind = Reached(graph, true);
  const std::vector<bool> before = Reached(graph, false);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.removed || node.op != OpCode::kTranspose) continue;
    const Shape shape = graph.value(node.inputs[0]).shape();
    if (!MovesElements(shape, node.As<TransposeAttrs>().perm)) continue;
    ++count.transposes;
    count.elements += shape.elements();
    const bool between =
        behind[static_cast<size_t>(node.inputs[0])] && before[static_cast<size_t>(node.outputs[0])];
    count.between_convolutions += between ? 1 : 0;
  }
  return count;
}

}  // namespace skiff
