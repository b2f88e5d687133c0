// ChannelShuffle out of Reshape to [groups, channels], Transpose of these two, Reshape. In NCHW it is wrapped
// in transposes, which ToNhwc cancels.
#include "ops/op_codes.h"
#include "passes/recognize/recognize.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// The axis that is split into [groups, channels], or -1. All other extents must stay.
int SplitAxis(const std::vector<Dim>& whole, const std::vector<Dim>& split) {
  if (split.size() != whole.size() + 1) return -1;
  size_t axis = 0;
  while (axis < whole.size() && whole[axis] == split[axis]) ++axis;
  if (axis == whole.size() || !split[axis].constant() || !(split[axis] * split[axis + 1] == whole[axis]))
    return -1;
  for (size_t i = axis + 1; i < whole.size(); ++i) {
    if (!(whole[i] == split[i + 1])) return -1;
  }
  return static_cast<int>(axis);
}

/// Whether the permutation exchanges `axis` and the next one, and nothing else.
bool Exchanges(const Ints& perm, int axis) {
  if (perm.size == 0) return false;  // All axes are reversed.
  for (int64_t i = 0; i < perm.size; ++i) {
    const int64_t expected = i == axis ? i + 1 : i == axis + 1 ? i - 1 : i;
    if (perm[i] != expected) return false;
  }
  return true;
}

/// Moves `axis` to the end (or from there back to its place, for `back`).
Ints MoveAxisLast(int rank, int axis, bool back) {
  Ints to_last;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) to_last[to_last.size++] = i;
  }
  to_last[to_last.size++] = axis;
  if (!back) return to_last;
  Ints inverse = to_last;
  for (int i = 0; i < rank; ++i) inverse[to_last[i]] = i;
  return inverse;
}

void Rewrite(Graph& graph, NodeId id, ValueId x, int axis, int64_t groups) {
  const auto rank = static_cast<int>(graph.value(x).dims.size());
  if (axis == rank - 1) {
    Become(graph, id, OpCode::kChannelShuffle, {x}, GroupsAttrs{groups});
  } else {
    const std::string name = graph.value(graph.node(id).outputs[0]).name;
    const ValueId moved = EmitTyped(graph, OpCode::kTranspose, {x},
                                    TransposeAttrs{MoveAxisLast(rank, axis, false)}, name + ".last", id);
    const ValueId shuffled =
        EmitTyped(graph, OpCode::kChannelShuffle, {moved}, GroupsAttrs{groups}, name + ".shuffled", id);
    const Value& whole = graph.value(graph.node(id).outputs[0]);
    if (whole.source_perm.size == 0) {  // ToNhwc may take the Transpose away; the name must survive that.
      graph.value(shuffled).source = whole.source;
      graph.value(shuffled).source_perm = MoveAxisLast(rank, axis, false);
    }
    Become(graph, id, OpCode::kTranspose, {shuffled}, TransposeAttrs{MoveAxisLast(rank, axis, true)});
  }
  graph.Note(id, "recognised as a part of ChannelShuffle");
}

}  // namespace

void RecognizeChannelShuffle(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    if (graph.node(id).op != OpCode::kReshape) return;
    const NodeId transpose = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kTranspose);
    if (transpose == kNoNode) return;
    const NodeId split = ProducerWith(graph, graph.node(transpose).inputs[0], OpCode::kReshape);
    if (split == kNoNode) return;
    const ValueId x = graph.node(split).inputs[0];
    const std::vector<Dim> dims = graph.value(graph.node(split).outputs[0]).dims;
    const int axis = SplitAxis(graph.value(x).dims, dims);
    // Axis 0 is the batch, which has no channels.
    if (axis < 1 || !Exchanges(graph.node(transpose).As<TransposeAttrs>().perm, axis)) return;
    if (!SameType(graph, x, graph.node(id).outputs[0])) return;
    Rewrite(graph, id, x, axis, dims[static_cast<size_t>(axis)].value);
  });
}

}  // namespace skiff
