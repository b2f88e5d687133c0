// Layout rules of operators that only rename or select elements.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/layout/rules.h"

namespace skiff {

bool PlanTranspose(LayoutPlanner& planner) {
  Layout layout = planner.Input(0);
  layout.view.Permute(planner.node().As<TransposeAttrs>().perm);
  layout.carries.push_back(planner.current());
  planner.SetOutput(0, std::move(layout));
  return true;
}

bool PlanReshape(LayoutPlanner& planner) {
  Layout layout = planner.Input(0);
  if (!layout.view.Reshape(planner.tensor(planner.node().outputs[0]).shape)) return false;
  layout.carries.push_back(planner.current());
  planner.SetOutput(0, std::move(layout));
  return true;
}

bool PlanGather(LayoutPlanner& planner) {
  Layout layout = planner.Input(0);
  const int axis = NormalizeAxis(planner.node().As<AxisAttrs>().axis, layout.view.rank());
  const Shape index_shape = planner.tensor(planner.node().inputs[1]).shape;
  const bool one = index_shape.elements() == 1 && index_shape.rank() <= 1;
  const std::optional<std::vector<int64_t>> indices = one ? planner.ConstantInts(1) : std::nullopt;
  if (indices) {
    const int64_t extent = layout.view.AxisExtent(axis);
    const int64_t index = indices->front();
    if (index < -extent || index >= extent) return false;
    // From the end where the index is: the extent may be open.
    const int64_t end = index == -1 ? INT64_MAX : index + 1;
    std::optional<Layout> selected = SliceAxes(planner, layout, {{axis, index, end, 1, 1}});
    if (!selected) return false;
    if (index_shape.rank() == 0) selected->view.axes.erase(selected->view.axes.begin() + axis);
    planner.SetOutput(0, *std::move(selected));
    return true;
  }
  layout = planner.Expose(layout, {axis});
  const int tensor_axis = planner.TensorAxis(layout, axis);
  const Shape& shape = planner.tensor(layout.tensor).shape;
  if (tensor_axis < 0 || shape.rank() - 1 + index_shape.rank() > kMaxRank) return false;
  Shape result;
  for (int i = 0; i < tensor_axis; ++i) result.Append(shape[i]);
  for (int64_t extent : index_shape) result.Append(extent);
  for (int i = tensor_axis + 1; i < shape.rank(); ++i) result.Append(shape[i]);
  AttrStorage attrs = planner.node().attrs;
  attrs.as<AxisAttrs>().axis = tensor_axis;
  layout.tensor =
      planner.AddStep(OpCode::kGather, attrs, {layout.tensor, planner.PlainInput(1)}, {result})[0];
  layout.view.ReplaceAxis(axis, 1);
  std::vector<std::vector<int>>& axes = layout.view.axes;
  const int old = axes[static_cast<size_t>(axis)].front();
  axes.erase(axes.begin() + axis);
  size_t at = static_cast<size_t>(std::find(layout.view.order.begin(), layout.view.order.end(), old) -
                                  layout.view.order.begin());
  layout.view.order.erase(layout.view.order.begin() + static_cast<std::ptrdiff_t>(at));
  for (int i = 0; i < index_shape.rank(); ++i) {
    axes.insert(axes.begin() + axis + i, std::vector<int>{layout.view.InsertFactor(at++, index_shape[i])});
  }
  planner.SetOutput(0, std::move(layout));
  return true;
}

}  // namespace skiff
