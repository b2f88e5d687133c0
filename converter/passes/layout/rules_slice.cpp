// Layout rule of Slice, and of whatever else keeps a stretch of an axis.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/layout/rules.h"

namespace skiff {
namespace {

/// A position in rows of `inner` elements. From the end, or beyond it, it stays so: the extent may be open.
int64_t Scaled(int64_t position, int64_t inner) {
  int64_t scaled = 0;
  if (!__builtin_mul_overflow(position, inner, &scaled)) return scaled;
  return position < 0 ? INT64_MIN : INT64_MAX;
}

/// The cut on the tensor's axis of which the cut axis is a part: the outermost part can lose a stretch, the
/// innermost one keep a single element (a step then). Nothing where it is neither, or where another cut has
/// changed that axis.
std::optional<AxisCut> CutOfPart(const Layout& layout, const std::vector<std::vector<int>>& tensor_axes,
                                 const std::vector<AxisCut>& before, const AxisCut& cut) {
  const std::vector<int>& part = layout.view.axes[static_cast<size_t>(cut.axis)];
  const SliceRange range = ResolveSlice(layout.view.AxisExtent(cut.axis), cut.start, cut.end, cut.step);
  for (size_t i = 0; i < tensor_axes.size() && !part.empty(); ++i) {
    const std::vector<int>& whole = tensor_axes[i];
    const auto begin = std::search(whole.begin(), whole.end(), part.begin(), part.end());
    if (begin == whole.end()) continue;
    const int axis = static_cast<int>(i);
    if (std::any_of(before.begin(), before.end(),
                    [axis](const AxisCut& other) { return other.axis == axis; }))
      return {};
    if (part.size() == whole.size()) return AxisCut{axis, cut.start, cut.end, cut.step, cut.count};
    const int64_t outer = layout.view.Extent({whole.begin(), begin});
    const int64_t extent = layout.view.Extent(part);
    const int64_t inner = layout.view.Extent(whole) / outer / extent;
    if (outer == 1 && range.step == 1)
      return AxisCut{axis, Scaled(cut.start, inner), Scaled(cut.end, inner), 1, range.count * inner};
    if (outer == 1 && range.count == 1)
      return AxisCut{axis, range.start * inner, (range.start + 1) * inner, 1, inner};
    if (inner == 1 && range.count == 1) return AxisCut{axis, range.start, INT64_MAX, extent, outer};
    return {};
  }
  return {};
}

std::optional<std::vector<AxisCut>> CutsOfTensor(const LayoutPlanner& planner, const Layout& layout,
                                                 const std::vector<AxisCut>& cuts) {
  const std::vector<std::vector<int>> tensor_axes =
      layout.view.TensorAxes(planner.tensor(layout.tensor).shape);
  std::vector<AxisCut> result;
  for (const AxisCut& cut : cuts) {
    const std::optional<AxisCut> in_tensor = CutOfPart(layout, tensor_axes, result, cut);
    if (!in_tensor) return {};
    result.push_back(*in_tensor);
  }
  return result;
}

}  // namespace

std::optional<std::vector<int>> AxesInput(const LayoutPlanner& planner, size_t input, size_t count,
                                          int rank) {
  std::vector<int> axes;
  if (!planner.HasInput(input)) {
    for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int>(i));
    return axes;
  }
  const std::optional<std::vector<int64_t>> values = planner.ConstantInts(input);
  if (!values || values->size() != count) return {};
  for (int64_t value : *values) axes.push_back(NormalizeAxis(value, rank));
  return axes;
}

std::optional<Layout> SliceAxes(LayoutPlanner& planner, Layout layout, const std::vector<AxisCut>& cuts) {
  std::optional<std::vector<AxisCut>> in_tensor = CutsOfTensor(planner, layout, cuts);
  if (!in_tensor) {
    std::vector<int> axes;
    for (const AxisCut& cut : cuts) axes.push_back(cut.axis);
    layout = planner.Expose(layout, axes);
    in_tensor = CutsOfTensor(planner, layout, cuts);
    if (!in_tensor) return {};
  }
  Shape shape = planner.tensor(layout.tensor).shape;
  std::vector<int64_t> columns[4];
  for (const AxisCut& cut : *in_tensor) {
    const int64_t row[4] = {cut.start, cut.end, cut.axis, cut.step};
    for (size_t i = 0; i < 4; ++i) columns[i].push_back(row[i]);
    shape[cut.axis] = cut.count;
  }
  std::vector<TensorId> inputs{layout.tensor};
  for (const std::vector<int64_t>& column : columns) inputs.push_back(planner.AddInts(column));
  AttrStorage attrs;
  InitAttrs(OpCode::kSlice, attrs);
  layout.tensor = planner.AddStep(OpCode::kSlice, attrs, std::move(inputs), {shape})[0];
  for (size_t i = 0; i < cuts.size(); ++i) {
    layout.view.ReplaceAxis(cuts[i].axis, cuts[i].count);
    // A unit has a place in memory only as an axis of the tensor.
    if (cuts[i].count == 1 && shape[(*in_tensor)[i].axis] > 1) layout.view.DropUnit(cuts[i].axis);
  }
  return layout;
}

bool PlanSlice(LayoutPlanner& planner) {
  const std::optional<std::vector<int64_t>> starts = planner.ConstantInts(1);
  const std::optional<std::vector<int64_t>> ends = planner.ConstantInts(2);
  if (!starts || !ends) return false;
  Layout layout = planner.Input(0);
  const std::optional<std::vector<int>> axes = AxesInput(planner, 3, starts->size(), layout.view.rank());
  std::optional<std::vector<int64_t>> steps = std::vector<int64_t>(starts->size(), 1);
  if (planner.HasInput(4)) steps = planner.ConstantInts(4);
  if (!axes || !steps) return false;
  std::vector<AxisCut> cuts;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t extent = layout.view.AxisExtent((*axes)[i]);
    const SliceRange range = ResolveSlice(extent, (*starts)[i], (*ends)[i], (*steps)[i]);
    const bool whole = range.count == extent && range.step == 1;
    if (!whole) cuts.push_back({(*axes)[i], (*starts)[i], (*ends)[i], (*steps)[i], range.count});
  }
  if (cuts.empty()) {
    layout.carries.push_back(planner.current());
  } else {
    std::optional<Layout> sliced = SliceAxes(planner, std::move(layout), cuts);
    if (!sliced) return false;
    layout = *std::move(sliced);
  }
  planner.SetOutput(0, std::move(layout));
  return true;
}

}  // namespace skiff
