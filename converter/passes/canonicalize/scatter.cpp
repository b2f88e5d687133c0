// Exporters write an assignment to a part of a tensor as ScatterND. Where the part is a block, this is a
// Concat of what stays and what is new: a copy that every delegate has, and often none. With other indices,
// along an axis that is not the first one, they transpose the whole tensor before and behind.
#include <algorithm>
#include <cstdint>

#include "ops/op_codes.h"
#include "passes/canonicalize/index_block.h"
#include "passes/canonicalize/rules.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Up to the end of an axis.
constexpr int64_t kToEnd = INT64_MAX;

/// [begin, end) of one axis.
ValueId Part(Graph& graph, NodeId like, ValueId x, int64_t axis, int64_t begin, int64_t end) {
  const std::string name = graph.value(graph.node(like).outputs[0]).name + ".kept";
  const auto list = [&](const char* suffix, int64_t number) {
    return graph.AddConstant(name + suffix, TensorData::OfInts({number}));
  };
  return EmitTyped(graph, OpCode::kSlice,
                   {x, list(".starts", begin), list(".ends", end), list(".axes", axis)}, NoAttrs{}, name,
                   like);
}

bool SpellScatterAsConcat(Graph& graph, NodeId id) {
  if (graph.node(id).As<ScatterAttrs>().reduction != ScatterReduction::kNone) return false;
  const ValueId x = graph.node(id).inputs[0];
  const std::vector<Dim> dims = graph.value(x).dims;
  const auto block = FindIndexBlock(graph, graph.node(id).inputs[1], dims);
  if (!block) return false;
  const std::string name = graph.value(graph.node(id).outputs[0]).name;

  // The updates have the extents of the indices' grid in front, which need not be those of the block.
  ValueId result = graph.node(id).inputs[2];
  std::vector<Dim> wanted = block->extents;
  const size_t axes = wanted.size();
  wanted.insert(wanted.end(), dims.begin() + static_cast<std::ptrdiff_t>(axes), dims.end());
  if (graph.value(result).dims != wanted) {
    ReshapeAttrs attrs;
    const auto target = ReshapeTarget(graph.value(result).dims, wanted, &attrs);
    if (!target) return false;
    result = EmitTyped(graph, OpCode::kReshape, {result, graph.AddConstant(name + ".shape", *target)}, attrs,
                       name + ".updates", id);
  }

  std::vector<int> partial;
  for (size_t axis = 0; axis < axes; ++axis) {
    if (block->extents[axis] != dims[axis]) partial.push_back(static_cast<int>(axis));
  }
  if (partial.empty()) return Bypass(graph, id, result, "every element is replaced");
  const auto begin_of = [&](int axis) { return block->begin[static_cast<size_t>(axis)]; };
  const auto end_of = [&](int axis) {
    const Dim end = Dim(begin_of(axis)) + block->extents[static_cast<size_t>(axis)];
    return end.constant() ? end.value : kToEnd;
  };
  // around[i]: what is inside of the block in the first i partial axes, and everything in the others.
  std::vector<ValueId> around = {x};
  for (size_t i = 0; i + 1 < partial.size(); ++i)
    around.push_back(Part(graph, id, around[i], partial[i], begin_of(partial[i]), end_of(partial[i])));
  for (size_t i = partial.size(); i-- > 0;) {
    const int axis = partial[i];
    const Dim& extent = dims[static_cast<size_t>(axis)];
    std::vector<ValueId> parts;
    if (begin_of(axis) > 0) parts.push_back(Part(graph, id, around[i], axis, 0, begin_of(axis)));
    parts.push_back(result);
    if (extent.constant() && end_of(axis) < extent.value)
      parts.push_back(Part(graph, id, around[i], axis, end_of(axis), extent.value));
    if (i > 0) {
      result = EmitTyped(graph, OpCode::kConcat, parts, AxisAttrs{axis}, name + ".block", id);
    } else {
      Become(graph, id, OpCode::kConcat, parts, AxisAttrs{axis});
    }
  }
  return true;
}

bool IsFixed(const std::vector<Dim>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.constant(); });
}

/// Rows along the first axis of a transposed tensor are ScatterElements along an axis of the tensor itself.
/// Its result is transposed instead, which the Transpose behind it cancels; the updates are small.
bool ScatterBeforeTranspose(Graph& graph, NodeId id) {
  const NodeId transpose = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kTranspose);
  const ValueId indices = graph.node(id).inputs[1];
  const ValueId updates = graph.node(id).inputs[2];
  const bool rows = graph.node(id).As<ScatterAttrs>().reduction == ScatterReduction::kNone &&
                    IsFixed(graph.value(indices).dims) && graph.value(indices).dims.size() == 2 &&
                    graph.value(indices).dims[1] == Dim(1) && IsFixed(graph.value(updates).dims);
  if (!rows || transpose == kNoNode || graph.OnlyUser(graph.node(id).inputs[0]) != id) return false;
  const ValueId x = graph.node(transpose).inputs[0];
  const Ints perm = graph.node(transpose).As<TransposeAttrs>().perm;
  if (perm.size == 0 || perm.size != static_cast<int64_t>(graph.value(x).dims.size())) return false;
  const std::string name = graph.value(graph.node(id).outputs[0]).name;
  TransposeAttrs back;
  back.perm = perm;
  std::vector<int64_t> column(static_cast<size_t>(perm.size), 1);
  std::vector<int64_t> extents(static_cast<size_t>(perm.size), 1);
  for (int64_t i = 0; i < perm.size; ++i) {
    back.perm[perm[i]] = i;
    extents[static_cast<size_t>(perm[i])] = graph.value(updates).dims[static_cast<size_t>(i)].value;
  }
  column[static_cast<size_t>(perm[0])] = graph.value(indices).dims[0].value;
  const ValueId rows_of_x = EmitTyped(graph, OpCode::kTranspose, {updates}, back, name + ".updates", id);
  const ValueId places = EmitTyped(graph, OpCode::kReshape,
                                   {indices, graph.AddConstant(name + ".column", TensorData::OfInts(column))},
                                   ReshapeAttrs{.allow_zero = true}, name + ".places", id);
  const ValueId spread = EmitTyped(
      graph, OpCode::kExpand, {places, graph.AddConstant(name + ".extents", TensorData::OfInts(extents))},
      NoAttrs{}, name + ".spread", id);
  const ValueId written = EmitTyped(graph, OpCode::kScatterElements, {x, spread, rows_of_x},
                                    ScatterAttrs{.axis = perm[0]}, name + ".written", id);
  Become(graph, id, OpCode::kTranspose, {written}, TransposeAttrs{perm});
  return true;
}

}  // namespace

const std::vector<CanonicalRule>& ScatterRules() {
  static const std::vector<CanonicalRule> rules = {{OpCode::kScatterND, SpellScatterAsConcat},
                                                   {OpCode::kScatterND, ScatterBeforeTranspose}};
  return rules;
}

}  // namespace skiff
