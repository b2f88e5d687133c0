/// Small steps that passes are written with. They keep uses, types, names and sources right.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "passes/passes.h"

namespace skiff {

/// Calls visit(NodeId) for the live nodes in topological order; nodes added meanwhile are not visited.
template <class Visit>
void ForEachNode(Graph& graph, Visit&& visit) {
  for (NodeId id : graph.TopologicalOrder()) {
    if (!graph.node(id).removed) visit(id);
  }
}

/// Whether an operand is quantised: what its elements stand for is not what they are, and its type is part of
/// what the node means.
bool TouchesQuantized(const Graph& graph, const Node& node);

/// ForEachNode for rules that reckon with the elements of constants or give nodes results of other types:
/// quantised nodes are left alone.
template <class Visit>
void ForEachPlainNode(Graph& graph, Visit&& visit) {
  ForEachNode(graph, [&](NodeId id) {
    if (!TouchesQuantized(graph, graph.node(id))) visit(id);
  });
}

/// The node that makes the value, when it has this operator and is not quantised; else kNoNode. `value` may
/// be kNoValue.
NodeId ProducerWith(const Graph& graph, ValueId value, OpCode op);

/// Input `index`, or kNoValue where there are fewer.
ValueId InputOf(const Graph& graph, NodeId node, int index);

/// The value's only element, when it is a constant with one.
std::optional<double> ScalarConstant(const Graph& graph, ValueId value);
/// The elements of an integer constant, or nothing.
std::optional<std::vector<int64_t>> IntConstant(const Graph& graph, ValueId value);
/// A constant of these numbers, each rounded to the dtype.
TensorData RoundedTo(DType dtype, const Shape& shape, const std::vector<double>& numbers);

Dim ElementCount(const std::vector<Dim>& dims);

/// A Reshape target for values of these dimensions, at most one of them no number: it is -1. Dimensions that
/// the input has at the same place may also be 0, "as the input's", unless `attrs` says otherwise. Nothing
/// where numbers alone cannot say it, or would not refuse the same sizes.
std::optional<TensorData> ReshapeTarget(const std::vector<Dim>& from, const std::vector<Dim>& to,
                                        ReshapeAttrs* attrs);

bool SameType(const Graph& graph, ValueId a, ValueId b);
/// Neither bound of the clamp does anything.
inline bool IsUnbounded(float min, float max) { return min == -kInfinity && max == kInfinity; }

/// "is used 2 times", "is an output of the graph": why a value cannot be taken away, for notes.
std::string DescribeUses(const Graph& graph, ValueId value);

/// EvaluateNode, or nothing where the reference kernels do not take the dtype; such a node is left to the
/// run.
std::optional<std::vector<TensorData>> EvaluateIfSupported(const Graph& graph, const Node& node,
                                                           const std::vector<const TensorData*>& inputs);

/// Adds a node like Graph::Emit and types its result.
template <class A = NoAttrs>
ValueId EmitTyped(Graph& graph, OpCode op, std::vector<ValueId> inputs, A attrs, const std::string& name,
                  NodeId like) {
  const ValueId result = graph.Emit(op, std::move(inputs), attrs, name, like);
  InferNode(graph, graph.value(result).producer);
  return result;
}

/// Gives the node other inputs. Nodes that nobody needs any more because of that are removed: their work is
/// done by this node, which inherits their sources.
void SetInputs(Graph& graph, NodeId node, const std::vector<ValueId>& inputs);

/// Makes the node another operator that computes the same value: output, name, position and sources stay.
template <class A = NoAttrs>
void Become(Graph& graph, NodeId node, OpCode op, const std::vector<ValueId>& inputs, A attrs = {}) {
  graph.node(node).op = op;
  InitAttrs(op, graph.node(node).attrs);
  graph.node(node).As<A>() = attrs;
  SetInputs(graph, node, inputs);
}

/// Removes the node if nobody uses its outputs and it has no effect, and then those of its producers that
/// only it used. `heir`, where given, now stands for their sources.
void RemoveIfUnused(Graph& graph, NodeId node, NodeId heir = kNoNode);

/// Uses `value` in place of the node's only output, with equal elements and type, and removes the node.
/// False, and nothing happens, where a graph output would become a graph input or a constant.
bool Bypass(Graph& graph, NodeId node, ValueId value, const std::string& note);

/// Puts a branch of an If into its place. The nodes that it consists of, in order; their results have no
/// types yet.
std::vector<NodeId> InlineBranch(Graph& graph, NodeId node, bool condition);

/// `node` now computes what its only user `user` computed from its output: it takes over that user's output,
/// with name and source, and the user is removed.
void TakeOver(Graph& graph, NodeId node, NodeId user);

}  // namespace skiff
