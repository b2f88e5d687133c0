// An If whose condition is known is the branch that it chooses.
#include "graph/bodies.h"
#include "graph/error.h"
#include "ops/op_codes.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Brings the parts of a body into the graph around it.
class Inliner {
 public:
  Inliner(Graph& graph, NodeId node, const Graph& body)
      : graph_(graph), body_(body), like_(node), values_(static_cast<size_t>(body.value_count()), kNoValue) {}

  std::vector<NodeId> Run() {
    const size_t first = FirstBodyInput(graph_.node(like_).op);
    for (size_t i = 0; i < body_.inputs().size(); ++i)
      Place(body_.inputs()[i].value) = graph_.node(like_).inputs[i + first];
    for (ValueId id = 0; id < body_.value_count(); ++id) {
      const Value& value = body_.value(id);
      if (value.constant) Place(id) = graph_.AddConstant(value.name, *value.constant);
    }
    for (const NodeId id : body_.TopologicalOrder()) Copy(body_.node(id));
    for (size_t i = 0; i < body_.outputs().size(); ++i) Connect(i);
    return std::move(nodes_);
  }

 private:
  ValueId& Place(ValueId inner) { return values_[static_cast<size_t>(inner)]; }

  void Copy(const Node& from) {
    std::vector<ValueId> inputs;
    for (const ValueId input : from.inputs) inputs.push_back(input == kNoValue ? kNoValue : Place(input));
    std::vector<std::string> names;
    for (const ValueId output : from.outputs) names.push_back(body_.value(output).name);
    const NodeId id = graph_.AddNode(from.op, std::move(inputs), names);
    nodes_.push_back(id);
    Node& to = graph_.node(id);
    to.attrs = from.attrs;
    to.name = from.name;
    to.bodies = from.bodies;
    to.position = graph_.node(like_).position;
    for (const SourceId source : from.sources) {
      graph_.sources().push_back(body_.sources()[static_cast<size_t>(source)]);
      to.sources.push_back(static_cast<SourceId>(graph_.sources().size() - 1));
    }
    for (size_t i = 0; i < from.outputs.size(); ++i) {
      Place(from.outputs[i]) = to.outputs[i];
      const Value& result = body_.value(from.outputs[i]);
      Value& copy = graph_.value(to.outputs[i]);
      copy.source = result.source;
      copy.source_perm = result.source_perm;
      if (!result.quantization) continue;  // Which no rule tells.
      copy.dtype = result.dtype;
      copy.quantization = result.quantization;
    }
  }

  /// Users of the node's output take the body's; a graph output stays the result of a node.
  void Connect(size_t i) {
    const ValueId outer = graph_.node(like_).outputs[i];
    ValueId inner = Place(body_.outputs()[i].value);
    if (graph_.IsGraphOutput(outer) && graph_.value(inner).producer == kNoNode) {
      inner = graph_.Emit(OpCode::kIdentity, {inner}, NoAttrs(), graph_.value(outer).name, like_);
      nodes_.push_back(graph_.value(inner).producer);
    }
    graph_.ReplaceUses(outer, inner);
  }

  Graph& graph_;
  const Graph& body_;
  const NodeId like_;
  std::vector<ValueId> values_;  ///< Of the body, in the graph.
  std::vector<NodeId> nodes_;
};

}  // namespace

std::vector<NodeId> InlineBranch(Graph& graph, NodeId id, bool condition) {
  CheckBodies(graph, graph.node(id));
  const size_t chosen = condition ? 0 : 1;
  graph.Note(id, fmt::format("its condition is known: the branch '{}' takes its place",
                             BodyNames(OpCode::kIf)[chosen]));
  const Graph body = std::move(graph.node(id).bodies[chosen]);
  graph.node(id).bodies.clear();
  std::vector<NodeId> nodes = Inliner(graph, id, body).Run();
  std::vector<NodeId> producers;
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i)
    producers.push_back(graph.ProducerOf(id, static_cast<int>(i)));
  graph.RemoveNode(id);
  for (const NodeId producer : producers) RemoveIfUnused(graph, producer);
  std::erase_if(nodes, [&](NodeId node) { return graph.node(node).removed; });
  return nodes;
}

}  // namespace skiff
