// What every run of a body sees the same of moves into the body, so that weights are constants there: inputs
// of the bodies that are constants, that are the same as another one, or that nobody reads.
#include <algorithm>

#include "graph/bodies.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

ValueId BodyInput(const Graph& body, size_t i) { return body.inputs()[i].value; }

bool IsRead(const Graph& body, size_t i) {
  const ValueId input = BodyInput(body, i);
  return !body.value(input).uses.empty() || body.IsGraphOutput(input);
}

/// Body input `i`, which is node input `i` + FirstBodyInput, is no longer needed.
bool Replace(Graph& graph, NodeId id, size_t i) {
  const Node& node = graph.node(id);
  const size_t first = FirstBodyInput(node.op);
  const ValueId outer = node.inputs[i + first];
  const auto begin = node.inputs.begin() + static_cast<std::ptrdiff_t>(first + LoopVariables(node));
  const auto same =
      static_cast<size_t>(std::find(begin, node.inputs.end(), outer) - node.inputs.begin()) - first;
  const std::optional<TensorData> constant = graph.value(outer).constant;
  const bool read =
      std::any_of(node.bodies.begin(), node.bodies.end(), [&](const Graph& body) { return IsRead(body, i); });
  if (!constant && same == i && read) return false;
  for (Graph& body : graph.node(id).bodies) {
    if (IsRead(body, i)) {
      const ValueId inner =
          constant ? body.AddConstant(graph.value(outer).name, *constant) : BodyInput(body, same);
      body.ReplaceUses(BodyInput(body, i), inner);
    }
    body.RemoveInput(i);
  }
  return true;
}

void SinkInto(Graph& graph, NodeId id) {
  const size_t fixed = LoopVariables(graph.node(id));
  const size_t first = FirstBodyInput(graph.node(id).op);
  std::vector<ValueId> inputs = graph.node(id).inputs;
  for (size_t i = inputs.size() - first; i-- > fixed;) {
    if (Replace(graph, id, i)) inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(first + i));
  }
  // Once: each call looks at all of them.
  if (inputs.size() < graph.node(id).inputs.size()) SetInputs(graph, id, inputs);
}

}  // namespace

void SinkConstants(Graph& graph) {
  ForEachNode(graph, [&](NodeId id) {
    if (!graph.node(id).bodies.empty()) SinkInto(graph, id);
  });
}

}  // namespace skiff
