// Canonical forms of operators that pick, join, pad or repeat elements.
#include <algorithm>
#include <numeric>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/canonicalize/rules.h"
#include "passes/folding_budget.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// The part of one axis that a Slice takes.
struct AxisRange {
  int axis = 0;
  SliceRange range;
};

/// Exporters write the largest integer for "to the end"; no tensor has as many elements.
constexpr int64_t kToTheEnd = int64_t{1} << 30;

/// Ranges of the axes that are really cut, in the order of the axes. Nothing when a list is not constant, or
/// when an axis is cut whose extent is open.
std::optional<std::vector<AxisRange>> ReadSlice(const Graph& graph, NodeId id) {
  const std::vector<Dim>& dims = graph.value(graph.node(id).inputs[0]).dims;
  const auto starts = IntConstant(graph, InputOf(graph, id, 1));
  const auto ends = IntConstant(graph, InputOf(graph, id, 2));
  if (!starts || !ends) return {};
  std::vector<int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  std::vector<int64_t> steps(starts->size(), 1);
  for (const auto& [index, list] : {std::pair(3, &axes), std::pair(4, &steps)}) {
    if (InputOf(graph, id, index) == kNoValue) continue;
    const auto given = IntConstant(graph, InputOf(graph, id, index));
    if (!given) return {};
    *list = *given;
  }
  std::vector<AxisRange> ranges;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = NormalizeAxis(axes[i], static_cast<int>(dims.size()));
    const Dim& extent = dims[static_cast<size_t>(axis)];
    if (!extent.constant()) {
      if ((*starts)[i] == 0 && (*ends)[i] >= kToTheEnd && steps[i] == 1) continue;
      return {};
    }
    const SliceRange range = ResolveSlice(extent.value, (*starts)[i], (*ends)[i], steps[i]);
    const bool everything = range.count == extent.value && (range.step > 0 || range.count <= 1);
    if (!everything) ranges.push_back({axis, range});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const AxisRange& a, const AxisRange& b) { return a.axis < b.axis; });
  return ranges;
}

/// Inputs 1 to 4 of a Slice as they are spelled canonically.
struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};

SliceLists SpellSlice(const std::vector<AxisRange>& ranges, const std::vector<Dim>& dims) {
  SliceLists lists;
  for (const auto& [axis, range] : ranges) {
    const int64_t step = range.count <= 1 ? 1 : range.step;
    const int64_t last = range.start + (range.count - 1) * step;
    // The element before the first one has no non-negative number.
    const int64_t before_first = -dims[static_cast<size_t>(axis)].value - 1;
    lists.starts.push_back(range.count == 0 ? 0 : range.start);
    lists.ends.push_back(range.count == 0 ? 0 : step > 0 ? last + 1 : last > 0 ? last - 1 : before_first);
    lists.axes.push_back(axis);
    lists.steps.push_back(step);
  }
  return lists;
}

void WriteSlice(Graph& graph, NodeId id, ValueId x, const std::vector<AxisRange>& ranges) {
  const SliceLists lists = SpellSlice(ranges, graph.value(x).dims);
  const std::string name = graph.value(graph.node(id).outputs[0]).name;
  const ValueId starts = graph.AddConstant(name + ".starts", TensorData::OfInts(lists.starts));
  const ValueId ends = graph.AddConstant(name + ".ends", TensorData::OfInts(lists.ends));
  const ValueId axes = graph.AddConstant(name + ".axes", TensorData::OfInts(lists.axes));
  const ValueId steps = graph.AddConstant(name + ".steps", TensorData::OfInts(lists.steps));
  Become(graph, id, OpCode::kSlice, {x, starts, ends, axes, steps});
}

bool SpellSliceOut(Graph& graph, NodeId id) {
  const auto ranges = ReadSlice(graph, id);
  if (!ranges) return false;
  if (ranges->empty()) return Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
  const SliceLists lists = SpellSlice(*ranges, graph.value(graph.node(id).inputs[0]).dims);
  const std::vector<int64_t>* wanted[] = {&lists.starts, &lists.ends, &lists.axes, &lists.steps};
  bool canonical = true;
  for (int i = 0; i < 4; ++i) {
    const ValueId input = InputOf(graph, id, i + 1);
    canonical = canonical && input != kNoValue && graph.value(input).dtype == DType::kI64 &&
                IntConstant(graph, input) == *wanted[i];
  }
  if (canonical) return false;
  WriteSlice(graph, id, graph.node(id).inputs[0], *ranges);
  return true;
}

/// A Slice of a Slice is one Slice.
bool MergeSlices(Graph& graph, NodeId id) {
  const NodeId inner = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kSlice);
  if (inner == kNoNode) return false;
  const auto outer_ranges = ReadSlice(graph, id);
  const auto inner_ranges = ReadSlice(graph, inner);
  if (!outer_ranges || !inner_ranges) return false;
  std::vector<AxisRange> merged = *inner_ranges;
  for (const AxisRange& outer : *outer_ranges) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const AxisRange& cut) { return cut.axis == outer.axis; });
    if (same == merged.end()) {
      merged.push_back(outer);
    } else {
      same->range = {same->range.start + outer.range.start * same->range.step,
                     same->range.step * outer.range.step, outer.range.count};
    }
  }
  std::sort(merged.begin(), merged.end(),
            [](const AxisRange& a, const AxisRange& b) { return a.axis < b.axis; });
  WriteSlice(graph, id, graph.node(inner).inputs[0], merged);
  return true;
}

/// The inputs of a Concat with elements in [first, last] of its axis, and where the first of them begins.
struct JoinedParts {
  std::vector<ValueId> parts;
  int64_t begin = 0;
};

/// Nothing where an extent is open.
std::optional<JoinedParts> PartsAt(const Graph& graph, NodeId concat, int axis, int64_t first, int64_t last) {
  JoinedParts found;
  int64_t begin = 0;
  for (const ValueId part : graph.node(concat).inputs) {
    const Dim& extent = graph.value(part).dims[static_cast<size_t>(axis)];
    if (!extent.constant()) return {};
    const int64_t end = begin + extent.value;
    if (begin <= last && end > first) {
      if (found.parts.empty()) found.begin = begin;
      found.parts.push_back(part);
    }
    begin = end;
  }
  return found;
}

/// Elements of a Concat that all come from one input are taken from there. Those of whole inputs are joined
/// without the others, if nobody needs these.
bool SliceWhatWasJoined(Graph& graph, NodeId id) {
  const ValueId joined = graph.node(id).inputs[0];
  const NodeId concat = ProducerWith(graph, joined, OpCode::kConcat);
  if (concat == kNoNode) return false;
  auto ranges = ReadSlice(graph, id);
  if (!ranges) return false;
  const int axis = NormalizeAxis(graph.node(concat).As<AxisAttrs>().axis,
                                 static_cast<int>(graph.value(joined).dims.size()));
  const auto cut = std::find_if(ranges->begin(), ranges->end(),
                                [&](const AxisRange& range) { return range.axis == axis; });
  if (cut == ranges->end() || cut->range.count == 0) return false;
  const int64_t start = cut->range.start;
  const int64_t end = start + (cut->range.count - 1) * cut->range.step;
  const auto found = PartsAt(graph, concat, axis, std::min(start, end), std::max(start, end));
  if (!found) return false;
  ValueId x = found->parts.front();
  if (found->parts.size() > 1) {
    const bool all = found->parts.size() == graph.node(concat).inputs.size();
    if (all || graph.OnlyUser(joined) != id) return false;
    x = EmitTyped(graph, OpCode::kConcat, found->parts, AxisAttrs{axis}, graph.value(joined).name, concat);
  }
  cut->range.start -= found->begin;
  WriteSlice(graph, id, x, *ranges);
  return true;
}

bool RemoveSplitIntoOne(Graph& graph, NodeId id) {
  if (graph.node(id).outputs.size() != 1) return false;
  return SameType(graph, graph.node(id).inputs[0], graph.node(id).outputs[0]) &&
         Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

/// Indices that are one number, or first, first + step, ... with a positive step, as a range; else nothing.
std::optional<SliceRange> AsRange(const std::vector<int64_t>& indices, int64_t extent) {
  if (indices.empty()) return {};
  SliceRange range{0, 1, static_cast<int64_t>(indices.size())};
  int64_t before = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t index = indices[i] < 0 ? indices[i] + extent : indices[i];
    if (index < 0 || index >= extent) return {};  // The kernel says what is wrong.
    if (i == 0) range.start = index;
    if (i == 1) range.step = index - before;
    if (i > 0 && (range.step <= 0 || index - before != range.step)) return {};
    before = index;
  }
  return range;
}

/// Gather by a constant: a Slice, and a Reshape where the indices are not a vector.
bool SpellGatherAsSlice(Graph& graph, NodeId id) {
  const auto indices = CountedIntConstant(graph, graph.node(id).inputs[1]);
  if (!indices) return false;
  const ValueId x = graph.node(id).inputs[0];
  const std::vector<Dim>& dims = graph.value(x).dims;
  const int axis = NormalizeAxis(graph.node(id).As<AxisAttrs>().axis, static_cast<int>(dims.size()));
  if (!dims[static_cast<size_t>(axis)].constant()) return false;
  const auto range = AsRange(*indices, dims[static_cast<size_t>(axis)].value);
  if (!range) return false;
  if (graph.value(graph.node(id).inputs[1]).dims.size() == 1) {
    WriteSlice(graph, id, x, {{axis, *range}});
    return true;
  }
  const std::string name = graph.value(graph.node(id).outputs[0]).name;
  // A Squeeze is what an index without axes does, and a Reshape to open extents may not be there.
  const bool has_axes = !graph.value(graph.node(id).inputs[1]).dims.empty();
  if (has_axes && !graph.value(graph.node(id).outputs[0]).has_static_shape()) return false;
  const ValueId slice = EmitTyped(graph, OpCode::kGather,
                                  {x, graph.AddConstant(name + ".indices", TensorData::OfInts(*indices))},
                                  graph.node(id).As<AxisAttrs>(), name + ".slice", id);
  WriteSlice(graph, graph.value(slice).producer, x, {{axis, *range}});
  ReshapeAttrs attrs;
  const auto target =
      ReshapeTarget(graph.value(slice).dims, graph.value(graph.node(id).outputs[0]).dims, &attrs);
  if (target) {
    Become(graph, id, OpCode::kReshape, {slice, graph.AddConstant(name + ".shape", *target)}, attrs);
  } else {
    Become(graph, id, OpCode::kSqueeze, {slice}, AxesAttrs{{axis}});
  }
  return true;
}

bool RemoveConcatOfOne(Graph& graph, NodeId id) {
  if (graph.node(id).inputs.size() != 1) return false;
  return Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

/// Concat of Concats along one axis, where nobody else looks at the inner ones.
bool MergeConcats(Graph& graph, NodeId id) {
  std::vector<ValueId> inputs;
  std::vector<NodeId> merged;
  for (ValueId input : graph.node(id).inputs) {
    const NodeId inner = ProducerWith(graph, input, OpCode::kConcat);
    const bool same_axis = inner != kNoNode && graph.OnlyUser(input) == id &&
                           graph.node(inner).As<AxisAttrs>().axis == graph.node(id).As<AxisAttrs>().axis;
    if (!same_axis) {
      inputs.push_back(input);
      continue;
    }
    merged.push_back(inner);
    inputs.insert(inputs.end(), graph.node(inner).inputs.begin(), graph.node(inner).inputs.end());
  }
  if (merged.empty() || inputs.size() >= kVariadic) return false;
  for (NodeId inner : merged) {
    graph.Note(inner, "merged into the Concat '" + graph.node(id).name + "'");
  }
  SetInputs(graph, id, inputs);
  return true;
}

/// Pads for all axes as one i64 constant (begins, then ends), no axes input, no value where it is 0.
bool SpellPadOut(Graph& graph, NodeId id) {
  const auto pads = IntConstant(graph, graph.node(id).inputs[1]);
  const ValueId axes_input = InputOf(graph, id, 3);
  const auto axes = IntConstant(graph, axes_input);
  if (!pads || (axes_input != kNoValue && !axes)) return false;
  const int rank = static_cast<int>(graph.value(graph.node(id).inputs[0]).dims.size());
  std::vector<int64_t> full(static_cast<size_t>(2 * rank), 0);
  const size_t count = pads->size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<size_t>(axes ? NormalizeAxis((*axes)[i], rank) : static_cast<int>(i));
    full[axis] = (*pads)[i];
    full[axis + static_cast<size_t>(rank)] = (*pads)[count + i];
  }
  if (std::all_of(full.begin(), full.end(), [](int64_t pad) { return pad == 0; })) {
    return Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
  }
  ValueId value = InputOf(graph, id, 2);
  if (ScalarConstant(graph, value) == 0.0 || graph.node(id).As<PadAttrs>().mode != PadMode::kConstant)
    value = kNoValue;
  std::vector<ValueId> inputs = {graph.node(id).inputs[0], graph.node(id).inputs[1]};
  if (value != kNoValue) inputs.push_back(value);
  const bool spelled = *pads == full && graph.value(inputs[1]).dtype == DType::kI64;
  if (spelled && graph.node(id).inputs == inputs) return false;
  const std::string name = graph.value(graph.node(id).outputs[0]).name;
  if (!spelled) inputs[1] = graph.AddConstant(name + ".pads", TensorData::OfInts(full));
  SetInputs(graph, id, inputs);
  return true;
}

bool RemoveNoOpExpand(Graph& graph, NodeId id) {
  return SameType(graph, graph.node(id).inputs[0], graph.node(id).outputs[0]) &&
         Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

/// The extents of a and b broadcast together, which are known to fit.
std::vector<Dim> Broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> result = a.size() >= b.size() ? a : b;
  const std::vector<Dim>& shorter = a.size() >= b.size() ? b : a;
  const size_t offset = result.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    if (result[offset + i] == Dim(1)) result[offset + i] = shorter[i];
  }
  return result;
}

/// A binary operator broadcasts by itself: it reads what was expanded, as long as its result keeps its shape.
bool LetUsersBroadcast(Graph& graph, NodeId id) {
  const ValueId expanded = graph.node(id).outputs[0];
  const ValueId x = graph.node(id).inputs[0];
  const std::vector<Use> uses = graph.value(expanded).uses;
  bool changed = false;
  for (const Use& use : uses) {
    const Node& user = graph.node(use.node);
    if (!FindOp(user.op)->Is(kBinary) || user.inputs[0] == user.inputs[1]) continue;
    const ValueId other = user.inputs[static_cast<size_t>(1 - use.input)];
    if (Broadcast(graph.value(x).dims, graph.value(other).dims) != graph.value(user.outputs[0]).dims)
      continue;
    graph.Note(id, "not needed by '" + user.name + "', which broadcasts by itself");
    graph.SetInput(use.node, use.input, x);
    changed = true;
  }
  if (changed) RemoveIfUnused(graph, id);
  return changed;
}

}  // namespace

const std::vector<CanonicalRule>& SliceRules() {
  static const std::vector<CanonicalRule> rules = {
      {OpCode::kSlice, SpellSliceOut},       {OpCode::kSlice, MergeSlices},
      {OpCode::kSlice, SliceWhatWasJoined},  {OpCode::kSplit, RemoveSplitIntoOne},
      {OpCode::kGather, SpellGatherAsSlice}, {OpCode::kConcat, RemoveConcatOfOne},
      {OpCode::kConcat, MergeConcats},       {OpCode::kPad, SpellPadOut},
      {OpCode::kExpand, RemoveNoOpExpand},   {OpCode::kExpand, LetUsersBroadcast},
  };
  return rules;
}

}  // namespace skiff
