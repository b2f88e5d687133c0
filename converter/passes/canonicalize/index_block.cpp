#include "passes/canonicalize/index_block.h"

#include <algorithm>
#include <utility>

#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Beyond any extent.
constexpr int64_t kMostIndex = int64_t{1} << 40;

/// Rows of as many indices as there are `axes`, if they count through a block of these; else nothing.
std::optional<IndexBlock> BlockOfRows(std::vector<int64_t> indices, const Dim* extents, size_t axes) {
  if (axes == 0 || indices.empty()) return {};
  for (size_t i = 0; i < indices.size(); ++i) {
    const Dim& extent = extents[i % axes];
    if (indices[i] < 0 && extent.constant()) indices[i] += extent.value;
    if (indices[i] < 0 || indices[i] > kMostIndex) return {};
  }
  IndexBlock block;
  block.begin.assign(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(axes));
  std::vector<int64_t> end;
  int64_t rows = 1;
  for (size_t axis = 0; axis < axes; ++axis) {
    end.push_back(indices[indices.size() - axes + axis] + 1);
    const int64_t extent = end[axis] - block.begin[axis];
    if (extent < 1 || std::cmp_greater(extent, indices.size())) return {};
    block.extents.emplace_back(extent);
    rows *= extent;
    if (std::cmp_greater(rows, indices.size())) return {};
  }
  if (std::cmp_not_equal(rows * static_cast<int64_t>(axes), indices.size())) return {};
  std::vector<int64_t> at = block.begin;
  for (size_t row = 0; row < indices.size(); row += axes) {
    if (!std::equal(at.begin(), at.end(), indices.begin() + static_cast<std::ptrdiff_t>(row))) return {};
    for (size_t axis = axes; axis-- > 0;) {
      if (++at[axis] < end[axis]) break;
      at[axis] = block.begin[axis];
    }
  }
  return block;
}

/// A tensor of indices that are begin + i at place i along one axis, wherever that is along the others.
struct Count {
  static constexpr int kNoAxis = -1;  ///< One index everywhere.
  int64_t begin = 0;
  Dim extent = 1;
  int axis = kNoAxis;
};

/// The axis that has as many axes before it which are not 1 as `axis` of `from` has; a Reshape that only puts
/// in and takes out axes of extent 1 moves it there.
std::optional<int> AxisBehindUnits(const std::vector<Dim>& from, const std::vector<Dim>& to, int axis) {
  const Dim one(1);
  std::vector<Dim> left, right;
  std::copy_if(from.begin(), from.end(), std::back_inserter(left),
               [&](const Dim& dim) { return dim != one; });
  std::copy_if(to.begin(), to.end(), std::back_inserter(right), [&](const Dim& dim) { return dim != one; });
  if (left != right) return {};
  auto before = std::count_if(from.begin(), from.begin() + axis, [&](const Dim& dim) { return dim != one; });
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != one && before-- == 0) return static_cast<int>(i);
  }
  return {};
}

std::optional<Count> CountOfConstant(Graph& graph, ValueId value, const Dim& extent) {
  const auto indices = CountedIntConstant(graph, value);
  if (!indices || indices->empty()) return {};
  const auto block = BlockOfRows(*indices, &extent, 1);
  if (!block) return {};
  Count count{block->begin[0], block->extents[0]};
  const std::vector<Dim>& dims = graph.value(value).dims;
  for (size_t i = 0; i < dims.size() && indices->size() > 1; ++i) {
    if (dims[i] == Dim(1)) continue;
    if (count.axis != Count::kNoAxis) return {};
    count.axis = static_cast<int>(i);
  }
  return count;
}

std::optional<int64_t> OnlyIndex(const Graph& graph, ValueId value) {
  const auto numbers = IntConstant(graph, value);
  const bool fits =
      numbers && numbers->size() == 1 && numbers->front() >= 0 && numbers->front() <= kMostIndex;
  return fits ? std::optional(numbers->front()) : std::nullopt;
}

Count CountAlong(int64_t begin, const Dim& extent) {
  return {begin, extent, extent == Dim(1) ? Count::kNoAxis : 0};
}

/// Of indices into an axis of this extent. `depth` nodes behind `value` are looked at: exporters write no
/// more, and many values may share a long chain.
std::optional<Count> FindCount(Graph& graph, ValueId value, const Dim& extent, int depth) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode) return CountOfConstant(graph, value, extent);
  const Node& node = graph.node(producer);
  const std::vector<Dim>& dims = graph.value(value).dims;
  if (node.op == OpCode::kRange) {
    const auto begin = OnlyIndex(graph, node.inputs[0]);
    if (!begin || OnlyIndex(graph, node.inputs[2]) != 1) return {};
    return CountAlong(*begin, dims[0]);
  }
  if (depth == 0 || (node.op != OpCode::kReshape && node.op != OpCode::kExpand && node.op != OpCode::kSlice))
    return {};
  const std::vector<Dim>& from = graph.value(node.inputs[0]).dims;
  std::optional<Count> count = FindCount(graph, node.inputs[0], extent, depth - 1);
  if (!count) return {};
  if (node.op == OpCode::kSlice) {
    if (from.size() != 1 || count->extent != from[0]) return {};
    const auto start = OnlyIndex(graph, node.inputs[1]);
    const ValueId step = InputOf(graph, producer, 4);
    if (!start || (step != kNoValue && OnlyIndex(graph, step) != 1)) return {};
    return CountAlong(count->begin + *start, dims[0]);
  }
  if (count->axis == Count::kNoAxis) return count;
  if (node.op == OpCode::kExpand) {
    count->axis += static_cast<int>(dims.size() - from.size());
    return count;
  }
  const auto axis = AxisBehindUnits(from, dims, count->axis);
  if (!axis) return {};
  count->axis = *axis;
  return count;
}

/// Indices along each axis by themselves, each spread over all others.
std::optional<IndexBlock> BlockOfCounts(Graph& graph, ValueId indices, const std::vector<Dim>& extents) {
  constexpr int kDepth = 6;
  const std::vector<Dim> dims = graph.value(indices).dims;
  std::vector<ValueId> parts = {indices};
  const NodeId concat = ProducerWith(graph, indices, OpCode::kConcat);
  if (concat != kNoNode) {
    const int64_t axis = graph.node(concat).As<AxisAttrs>().axis;
    if (axis != static_cast<int64_t>(dims.size()) - 1 && axis != -1) return {};
    parts = graph.node(concat).inputs;
  }
  if (dims.empty() || dims.back() != Dim(static_cast<int64_t>(parts.size()))) return {};
  IndexBlock block;
  size_t next = 0;  // The first axis of the grid that none of them counts along so far.
  const auto skip_units = [&](size_t end) {
    while (next < end && dims[next] == Dim(1)) ++next;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    if (graph.value(parts[i]).dims.back() != Dim(1)) return {};
    const auto count = FindCount(graph, parts[i], extents[i], kDepth);
    if (!count) return {};
    block.begin.push_back(count->begin);
    block.extents.push_back(count->extent);
    if (count->axis == Count::kNoAxis) continue;
    const auto axis = static_cast<size_t>(count->axis);
    skip_units(axis);
    if (axis != next || dims[axis] != count->extent) return {};
    ++next;
  }
  skip_units(dims.size() - 1);
  return next == dims.size() - 1 ? std::optional(block) : std::nullopt;
}

}  // namespace

std::optional<IndexBlock> FindIndexBlock(Graph& graph, ValueId indices, const std::vector<Dim>& dims) {
  const auto constant = CountedIntConstant(graph, indices);
  std::optional<IndexBlock> block =
      constant
          ? BlockOfRows(*constant, dims.data(), static_cast<size_t>(graph.value(indices).dims.back().value))
          : BlockOfCounts(graph, indices, dims);
  for (size_t axis = 0; block && axis < block->begin.size(); ++axis) {
    const Dim end = block->extents[axis] + Dim(block->begin[axis]);
    const bool fits = end.constant() && dims[axis].constant() && end.value <= dims[axis].value;
    if (!fits && end != dims[axis]) return {};  // The kernel says what is wrong.
  }
  return block;
}

}  // namespace skiff
