#include "graph/shape_program.h"

#include <algorithm>

#include "graph/bodies.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// By node, then by input: whether its elements decide a shape. Bodies may lie in bodies, so each is looked
/// at once.
using Needs = std::vector<std::vector<bool>>;

std::vector<bool> InputsThatDecide(const Graph& body);

std::vector<bool> NeedsOf(const Node& node) {
  std::vector<bool> needs(node.inputs.size(), false);
  if (node.bodies.empty()) {
    for (size_t i = 0; i < needs.size(); ++i) needs[i] = FindOp(node.op)->NeedsValues(i);
    return needs;
  }
  if (node.op == OpCode::kStage) return needs;  // It reads them in the run.
  const size_t first = FirstBodyInput(node.op);
  for (const Graph& body : node.bodies) {
    const std::vector<bool> decide = InputsThatDecide(body);
    for (size_t i = 0; i < decide.size() && first + i < needs.size(); ++i)
      needs[first + i] = needs[first + i] || decide[i];
  }
  return needs;
}

Needs NeedsOf(const Graph& graph) {
  Needs needs(static_cast<size_t>(graph.node_count()));
  for (const NodeId id : graph.TopologicalOrder()) needs[static_cast<size_t>(id)] = NeedsOf(graph.node(id));
  return needs;
}

std::vector<bool> ShapeProgram(const Graph& graph, const Needs& needs) {
  std::vector<bool> member(static_cast<size_t>(graph.node_count()), false);
  std::vector<NodeId> pending;
  const auto need = [&](ValueId value) {
    if (value == kNoValue || graph.value(value).producer == kNoNode) return;
    const NodeId producer = graph.value(value).producer;
    if (member[static_cast<size_t>(producer)]) return;
    member[static_cast<size_t>(producer)] = true;
    pending.push_back(producer);
  };
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const std::vector<bool>& inputs = needs[static_cast<size_t>(id)];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) need(graph.node(id).inputs[i]);
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

/// By graph input: whether its elements decide a shape.
std::vector<bool> InputsThatDecide(const Graph& body) {
  const Needs needs = NeedsOf(body);
  const std::vector<bool> program = ShapeProgram(body, needs);
  std::vector<bool> decide;
  for (const GraphPort& port : body.inputs()) {
    const std::vector<Use>& uses = body.value(port.value).uses;
    decide.push_back(std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      const auto user = static_cast<size_t>(use.node);
      const bool computes = program[user] && body.node(use.node).op != OpCode::kShape;
      return computes || needs[user][static_cast<size_t>(use.input)];
    }));
  }
  return decide;
}

}  // namespace

std::vector<bool> ShapeProgram(const Graph& graph) { return ShapeProgram(graph, NeedsOf(graph)); }

std::vector<bool> NeededInputs(const Node& node) { return NeedsOf(node); }

bool NeedsValues(const Node& node, size_t i) {
  return node.bodies.empty() ? FindOp(node.op)->NeedsValues(i) : NeedsOf(node)[i];
}

}  // namespace skiff
