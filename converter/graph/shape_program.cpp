#include "graph/shape_program.h"

#include <algorithm>

#include "graph/bodies.h"

namespace skiff {
namespace {

/// Whether graph input `i`'s elements decide a shape.
bool DecidesShape(const Graph& graph, size_t i) {
  const std::vector<bool> program = ShapeProgram(graph);
  const std::vector<Use>& uses = graph.value(graph.inputs()[i].value).uses;
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& user = graph.node(use.node);
    const bool computes = program[static_cast<size_t>(use.node)] && user.op != OpCode::kShape;
    return computes || NeedsValues(user, static_cast<size_t>(use.input));
  });
}

}  // namespace

std::vector<bool> ShapeProgram(const Graph& graph) {
  std::vector<bool> member(static_cast<size_t>(graph.node_count()), false);
  std::vector<NodeId> pending;
  const auto need = [&](ValueId value) {
    if (value == kNoValue || graph.value(value).producer == kNoNode) return;
    const NodeId producer = graph.value(value).producer;
    if (member[static_cast<size_t>(producer)]) return;
    member[static_cast<size_t>(producer)] = true;
    pending.push_back(producer);
  };
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (NeedsValues(node, i)) need(node.inputs[i]);
    }
  }
  while (!pending.empty()) {
    const Node& node = graph.node(pending.back());
    pending.pop_back();
    if (node.op == OpCode::kShape) continue;
    for (const ValueId input : node.inputs) need(input);
  }
  return member;
}

bool NeedsValues(const Node& node, size_t i) {
  if (node.bodies.empty()) return FindOp(node.op)->NeedsValues(i);
  const size_t first = FirstBodyInput(node.op);
  return i >= first && std::any_of(node.bodies.begin(), node.bodies.end(),
                                   [&](const Graph& body) { return DecidesShape(body, i - first); });
}

}  // namespace skiff
