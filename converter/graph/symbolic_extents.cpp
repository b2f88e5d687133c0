// What is certain of results whose extents a shape rule cannot tell for want of numbers.
#include <algorithm>
#include <initializer_list>

#include "graph/symbolic_hooks.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {
namespace {

/// Whether what is present of these is a list as shape rules read them, whatever it holds.
bool AreLists(const InferContext<Dim>& context, std::initializer_list<size_t> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](size_t i) {
    if (!context.Has(i)) return true;
    const InferInput<Dim>& list = context.inputs[i];
    return list.rank <= 1 && (list.dtype == DType::kI64 || list.dtype == DType::kI32);
  });
}

/// How many numbers a list has, even where none of them is known; -1 where that is open, or no list.
int CountOf(const InferContext<Dim>& context, size_t i) {
  constexpr int64_t kMost = 1 << 20;  // More than any operator takes.
  if (!context.Has(i) || !AreLists(context, {i})) return -1;
  const InferInput<Dim>& list = context.inputs[i];
  if (list.rank == 0) return 1;
  return list.extents[0].constant() ? static_cast<int>(std::min(list.extents[0].value, kMost)) : -1;
}

/// Whether an operator that takes a part of its input leaves this axis alone.
bool KeepsAxis(const InferContext<Dim>& context, int axis) {
  const int rank = context.inputs[0].rank;
  if (context.op == OpCode::kSplit) return NormalizeAxis(context.As<SplitAttrs>().axis, rank) != axis;
  if (!context.Has(3) || context.inputs[3].values == nullptr) return false;
  const InferInput<Dim>& axes = context.inputs[3];
  return std::all_of(axes.values, axes.values + axes.value_count, [&](const Dim& sliced) {
    return sliced.constant() && NormalizeAxis(sliced.value, rank) != axis;
  });
}

/// Of those that are known: each within the rank, and none twice.
bool AxesAreValid(const InferContext<Dim>& context, size_t i) {
  if (!context.Has(i)) return true;
  const InferInput<Dim>& axes = context.inputs[i];
  uint32_t seen = 0;
  for (int64_t k = 0; k < axes.value_count; ++k) {
    if (!axes.values[k].constant()) continue;
    const int axis = NormalizeAxis(axes.values[k].value, context.inputs[0].rank);
    if (axis < 0 || ((seen >> axis) & 1u) != 0) return false;
    seen |= 1u << axis;
  }
  return true;
}

bool HasKnownZero(const InferContext<Dim>& context, size_t i) {
  if (!context.Has(i)) return false;
  const InferInput<Dim>& list = context.inputs[i];
  return std::any_of(list.values, list.values + list.value_count,
                     [](const Dim& number) { return number.constant() && number.value == 0; });
}

int64_t Largest(const Dim& dim) { return std::max<int64_t>(dim.bounds().max, 0); }

}  // namespace

int RankOfTopK(const InferContext<Dim>& context) {
  const int rank = context.inputs[0].rank;
  return AreLists(context, {1}) && NormalizeAxis(context.As<TopKAttrs>().axis, rank) >= 0 ? rank : -1;
}

int RankOfSplit(const InferContext<Dim>& context) {
  const int rank = context.inputs[0].rank;
  const int sizes = CountOf(context, 1);
  if (!AreLists(context, {1}) || NormalizeAxis(context.As<SplitAttrs>().axis, rank) < 0) return -1;
  return sizes < 0 || sizes == static_cast<int>(context.outputs.size()) ? rank : -1;
}

int RankOfSlice(const InferContext<Dim>& context) {
  const int rank = context.inputs[0].rank;
  int cut = -1;
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const int count = CountOf(context, i);
    if (count < 0) continue;
    if (count > rank || (cut >= 0 && count != cut)) return -1;
    cut = count;
  }
  return AreLists(context, {1, 2, 3, 4}) && AxesAreValid(context, 3) && !HasKnownZero(context, 4) ? rank : -1;
}

int RankOfPad(const InferContext<Dim>& context) {
  const int rank = context.inputs[0].rank;
  const int pads = CountOf(context, 1);
  const int axes = context.Has(3) ? CountOf(context, 3) : rank;
  const bool matches = pads < 0 || axes < 0 || (pads == 2 * axes && axes <= rank);
  return matches && AreLists(context, {1, 3}) && AxesAreValid(context, 3) ? rank : -1;
}

int RankOfTile(const InferContext<Dim>& context) {
  const int rank = context.inputs[0].rank;
  const int repeats = CountOf(context, 1);
  return AreLists(context, {1}) && (repeats < 0 || repeats == rank) ? rank : -1;
}

int RankOfResize2d(const InferContext<Dim>& context) {
  return AreLists(context, {1}) && context.inputs[0].rank == 4 ? 4 : -1;
}

int RankOfVector(const InferContext<Dim>&) { return 1; }
int RankOfReshape(const InferContext<Dim>& context) { return CountOf(context, 1); }
int RankOfFill(const InferContext<Dim>& context) { return CountOf(context, 0); }
int RankOfExpand(const InferContext<Dim>& context) {
  const int target = CountOf(context, 1);
  return target < 0 ? -1 : std::max(context.inputs[0].rank, target);
}

int RankOfPlaces(const InferContext<Dim>& context) { return AreLists(context, {1}) ? 2 : -1; }

/// Of TopK: along its axis as many as are asked for.
PartlyKnown ExtentOfBest(const InferContext<Dim>& context, int rank, int axis) {
  const Dim& whole = context.inputs[0].extents[axis];
  if (NormalizeAxis(context.As<TopKAttrs>().axis, rank) != axis) return {whole};
  return {{}, Largest(whole)};
}

/// Of NonZero: an index for each axis, and a place for each element at most.
PartlyKnown ExtentOfPlaces(const InferContext<Dim>& context, int, int axis) {
  const InferInput<Dim>& x = context.inputs[0];
  if (axis == 0) return {Dim(std::max(x.rank, 1))};
  Dim elements(1);
  for (int i = 0; i < x.rank; ++i) elements = elements * x.extents[i];
  return {{}, Largest(elements)};
}

/// A part is no larger than the whole.
PartlyKnown ExtentOfPart(const InferContext<Dim>& context, int, int axis) {
  const Dim& whole = context.inputs[0].extents[axis];
  if (KeepsAxis(context, axis)) return {whole};
  return {{}, Largest(whole)};
}

/// A number in the target is an extent, a copy of the input's where it is 0, or for -1 what remains of the
/// elements.
PartlyKnown ReshapedExtent(const InferContext<Dim>& context, int, int axis) {
  const InferInput<Dim>& x = context.inputs[0];
  const InferInput<Dim>& target = context.inputs[1];
  if (target.values == nullptr || axis >= target.value_count) return {};
  const Dim& number = target.values[axis];
  const bool copies = axis < x.rank && !context.As<ReshapeAttrs>().allow_zero;
  if (IsPositive(number)) return {number};
  if (copies && number == Dim(0)) return {x.extents[axis]};
  int64_t most = Largest(number);
  if (copies) most = std::max(most, Largest(x.extents[axis]));
  if (IsNonNegative(number)) return {{}, most};
  Dim elements(1);  // Copied extents do not count, so that none of the factors may be 0.
  for (int i = 0; i < x.rank; ++i) elements = elements * MaxExtent(x.extents[i], Dim(1));
  return {{}, std::max(most, Largest(elements))};
}

/// The larger one of two that are broadcast, or 0.
PartlyKnown ExpandedExtent(const InferContext<Dim>& context, int rank, int axis) {
  const InferInput<Dim>& x = context.inputs[0];
  const InferInput<Dim>& target = context.inputs[1];
  if (target.values == nullptr) return {};
  const int64_t in_x = axis - (rank - x.rank);
  const int64_t in_target = axis - (rank - target.value_count);
  const int64_t most = in_x < 0 ? 0 : Largest(x.extents[in_x]);
  return {{}, in_target < 0 ? most : std::max(most, Largest(target.values[in_target]))};
}

}  // namespace skiff
