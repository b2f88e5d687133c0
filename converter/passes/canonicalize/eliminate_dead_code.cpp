// Nodes that no output needs.
#include "graph/bodies.h"
#include "passes/rewrite.h"

namespace skiff {

void EliminateDeadCode(Graph& graph) {
  std::vector<NodeId> order = graph.TopologicalOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    bool used = graph.node(*id).removed || HasEffect(graph.node(*id));
    for (ValueId output : graph.node(*id).outputs) {
      used = used || !graph.value(output).uses.empty() || graph.IsGraphOutput(output);
    }
    if (used) continue;
    graph.Note(*id, "no output needs it: removed");
    graph.RemoveNode(*id);
  }
}

}  // namespace skiff
