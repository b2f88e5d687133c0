// Layout rules of operators that treat some axes specially and do the same thing along all others.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/layout/rules.h"

namespace skiff {
namespace {

/// The layout of the result of an operator that leaves every extent as it is.
void SetSameLayout(LayoutPlanner& planner, Layout layout, const AttrStorage& attrs,
                   std::vector<TensorId> inputs) {
  layout.tensor =
      planner.AddStep(planner.node().op, attrs, std::move(inputs), {planner.tensor(layout.tensor).shape})[0];
  planner.SetOutput(0, std::move(layout));
}

/// The layout where the axes from `first` on are the tensor's innermost axes; nothing where elements would
/// have to move for that.
std::optional<Layout> WithInnermost(LayoutPlanner& planner, const Layout& layout, int first) {
  const int rank = layout.view.rank();
  const int tensor_rank = planner.tensor(layout.tensor).shape.rank();
  bool exact = true;
  for (int axis = first; axis < rank; ++axis)
    exact &= planner.TensorAxis(layout, axis) == tensor_rank - rank + axis;
  if (exact) return layout;
  std::vector<int> order = layout.view.MemoryOrder();
  std::stable_partition(order.begin(), order.end(), [first](int axis) { return axis < first; });
  std::sort(order.begin() + first, order.end());
  if (!layout.view.Follows(order)) return {};
  return planner.Ordered(layout, order);
}

}  // namespace

bool PlanReduce(LayoutPlanner& planner) {
  Layout layout = planner.Input(0);
  const auto& attrs = planner.node().As<ReduceAttrs>();
  uint32_t mask = 0;
  if (!ReducedAxes(attrs, layout.view.rank(), &mask)) return false;
  std::vector<uint64_t> reduced(layout.view.extents.size(), 0);
  std::vector<std::vector<int>> axes;
  bool any = false;
  for (int axis = 0; axis < layout.view.rank(); ++axis) {
    const std::vector<int>& factors = layout.view.axes[static_cast<size_t>(axis)];
    const bool is_reduced = ((mask >> axis) & 1u) != 0;
    any |= is_reduced && layout.view.Extent(factors) > 1;
    for (int factor : factors)
      reduced[static_cast<size_t>(factor)] = is_reduced && !layout.view.IsUnit(factor) ? 1 : 0;
    if (!is_reduced || attrs.keep_dims) axes.push_back(factors);
  }
  if (!any) {
    // Reducing axes of extent 1 changes the shape only.
    layout.view.axes = std::move(axes);
    layout.carries.push_back(planner.current());
    planner.SetOutput(0, std::move(layout));
    return true;
  }
  const std::vector<std::vector<int>> groups =
      layout.view.CutTensorAxes(planner.tensor(layout.tensor).shape, reduced);
  if (groups.size() > static_cast<size_t>(kMaxRank)) return false;
  AttrStorage step_attrs = planner.node().attrs;
  Ints& step_axes = step_attrs.as<ReduceAttrs>().axes;
  step_axes = Ints();
  step_attrs.as<ReduceAttrs>().noop_when_empty = false;
  Shape before;
  Shape after;
  AxisView view;
  view.extents = layout.view.extents;
  for (const std::vector<int>& group : groups) {
    const bool is_reduced = reduced[static_cast<size_t>(group.front())] != 0;
    if (is_reduced) step_axes[step_axes.size++] = before.rank();
    before.Append(layout.view.Extent(group));
    if (!is_reduced) {
      after.Append(before[before.rank() - 1]);
      view.order.insert(view.order.end(), group.begin(), group.end());
    } else if (attrs.keep_dims) {
      // The first factor stays as the unit that remembers the place.
      after.Append(1);
      view.order.push_back(group.front());
      for (int factor : group) view.extents[static_cast<size_t>(factor)] = 1;
    }
  }
  for (std::vector<int>& axis : axes) {
    std::erase_if(axis, [&](int factor) {
      return std::find(view.order.begin(), view.order.end(), factor) == view.order.end();
    });
    if (axis.size() > 1 && view.Solid(axis).empty()) axis.resize(1);
  }
  const TensorId input = planner.Reshaped(layout.tensor, before, layout);
  view.axes = std::move(axes);
  layout.view = std::move(view);
  layout.tensor = planner.AddStep(planner.node().op, step_attrs, {input}, {after})[0];
  planner.SetOutput(0, std::move(layout));
  return true;
}

bool PlanSoftmax(LayoutPlanner& planner) {
  const Layout input = planner.Input(0);
  const int axis = NormalizeAxis(planner.node().As<AxisAttrs>().axis, input.view.rank());
  const Layout layout = planner.Expose(input, {axis});
  const int tensor_axis = planner.TensorAxis(layout, axis);
  const bool innermost = tensor_axis == planner.tensor(layout.tensor).shape.rank() - 1;
  // Softmax along an inner axis is slower than along the innermost one, so that is not given away.
  if (tensor_axis < 0 || (axis == input.view.rank() - 1 && !innermost)) return false;
  AttrStorage attrs = planner.node().attrs;
  attrs.as<AxisAttrs>().axis = tensor_axis;
  SetSameLayout(planner, layout, attrs, {layout.tensor});
  return true;
}

bool PlanBatchNorm(LayoutPlanner& planner) {
  const Layout input = planner.Input(0);
  const int axis = NormalizeAxis(planner.node().As<NormAttrs>().axis, input.view.rank());
  const Layout layout = planner.Expose(input, {axis});
  const int tensor_axis = planner.TensorAxis(layout, axis);
  if (tensor_axis < 0) return false;
  AttrStorage attrs = planner.node().attrs;
  attrs.as<NormAttrs>().axis = tensor_axis;
  std::vector<TensorId> inputs{layout.tensor};
  for (size_t i = 1; i < planner.InputCount(); ++i) inputs.push_back(planner.PlainInput(i));
  SetSameLayout(planner, layout, attrs, std::move(inputs));
  return true;
}

bool PlanLayerNorm(LayoutPlanner& planner) {
  const int rank = planner.Input(0).view.rank();
  const int first = NormalizeAxis(planner.node().As<NormAttrs>().axis, rank);
  const std::optional<Layout> layout = WithInnermost(planner, planner.Input(0), first);
  if (!layout) return false;
  AttrStorage attrs = planner.node().attrs;
  attrs.as<NormAttrs>().axis = first - rank;
  std::vector<TensorId> inputs{layout->tensor};
  for (size_t i = 1; i < planner.InputCount(); ++i) inputs.push_back(planner.PlainInput(i));
  SetSameLayout(planner, *layout, attrs, std::move(inputs));
  return true;
}

bool PlanChannelShuffle(LayoutPlanner& planner) {
  const std::optional<Layout> layout =
      WithInnermost(planner, planner.Input(0), planner.Input(0).view.rank() - 1);
  if (!layout) return false;
  SetSameLayout(planner, *layout, planner.node().attrs, {layout->tensor});
  return true;
}

bool PlanSplit(LayoutPlanner& planner) {
  Layout layout = planner.Input(0);
  const int axis = NormalizeAxis(planner.node().As<SplitAttrs>().axis, layout.view.rank());
  layout = planner.Expose(layout, {axis});
  const int tensor_axis = planner.TensorAxis(layout, axis);
  if (tensor_axis < 0) return false;
  AttrStorage attrs = planner.node().attrs;
  attrs.as<SplitAttrs>().axis = tensor_axis;
  std::vector<Shape> shapes;
  for (ValueId output : planner.node().outputs) {
    shapes.push_back(planner.tensor(layout.tensor).shape);
    shapes.back()[tensor_axis] = planner.tensor(output).shape[axis];
  }
  std::vector<TensorId> inputs{layout.tensor};
  if (planner.HasInput(1)) inputs.push_back(planner.PlainInput(1));
  const std::vector<TensorId> outputs = planner.AddStep(OpCode::kSplit, attrs, std::move(inputs), shapes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Layout part = layout;
    part.tensor = outputs[i];
    part.view.ReplaceAxis(axis, shapes[i][tensor_axis]);
    planner.SetOutput(i, std::move(part));
  }
  return true;
}

bool PlanPad(LayoutPlanner& planner) {
  const std::optional<std::vector<int64_t>> pads = planner.ConstantInts(1);
  if (!pads) return false;
  Layout layout = planner.Input(0);
  const size_t count = pads->size() / 2;
  const std::optional<std::vector<int>> axes = AxesInput(planner, 3, count, layout.view.rank());
  if (!axes) return false;
  std::vector<int> exposed;
  for (size_t i = 0; i < count; ++i) {
    if ((*pads)[i] != 0 || (*pads)[count + i] != 0) exposed.push_back((*axes)[i]);
  }
  layout = planner.Expose(layout, exposed);
  Shape shape = planner.tensor(layout.tensor).shape;
  // Extents that no rule could tell are no sums of these.
  const Shape output = planner.tensor(planner.node().outputs[0]).shape;
  const size_t tensor_rank = static_cast<size_t>(shape.rank());
  std::vector<int64_t> tensor_pads(2 * tensor_rank, 0);
  for (size_t i = 0; i < count; ++i) {
    if (std::find(exposed.begin(), exposed.end(), (*axes)[i]) == exposed.end()) continue;
    const int tensor_axis = planner.TensorAxis(layout, (*axes)[i]);
    if (tensor_axis < 0) return false;
    int64_t both = 0;
    if (__builtin_add_overflow((*pads)[i], (*pads)[count + i], &both) ||
        __builtin_add_overflow(shape[tensor_axis], both, &shape[tensor_axis]) ||
        shape[tensor_axis] != output[(*axes)[i]])
      return false;
    tensor_pads[static_cast<size_t>(tensor_axis)] = (*pads)[i];
    tensor_pads[tensor_rank + static_cast<size_t>(tensor_axis)] = (*pads)[count + i];
  }
  std::vector<TensorId> inputs{layout.tensor, planner.AddInts(tensor_pads)};
  if (planner.HasInput(2)) inputs.push_back(planner.PlainInput(2));
  layout.tensor = planner.AddStep(std::move(inputs), shape);
  for (int axis : exposed) layout.view.ReplaceAxis(axis, output[axis]);
  planner.SetOutput(0, std::move(layout));
  return true;
}

bool PlanExpand(LayoutPlanner& planner) {
  const Shape target = planner.tensor(planner.node().outputs[0]).shape;
  Layout layout = planner.Input(0);
  layout.view.axes.insert(layout.view.axes.begin(), static_cast<size_t>(target.rank() - layout.view.rank()),
                          {});
  std::vector<int> expanded;
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (layout.view.AxisExtent(axis) != target[axis]) expanded.push_back(axis);
  }
  layout = planner.Expose(layout, expanded);
  Shape shape = planner.tensor(layout.tensor).shape;
  for (int axis : expanded) {
    const int tensor_axis = planner.TensorAxis(layout, axis);
    if (tensor_axis < 0) return false;
    shape[tensor_axis] = target[axis];
  }
  const TensorId tensor =
      planner.AddStep({layout.tensor, planner.AddInts({shape.begin(), shape.end()})}, shape);
  layout.tensor = tensor;
  for (int axis : expanded) layout.view.ReplaceAxis(axis, target[axis]);
  planner.SetOutput(0, std::move(layout));
  return true;
}

bool PlanTile(LayoutPlanner& planner) {
  const std::optional<std::vector<int64_t>> repeats = planner.ConstantInts(1);
  Layout layout = planner.Input(0);
  if (!repeats || static_cast<int>(repeats->size()) != layout.view.rank()) return false;
  std::vector<int> tiled;
  for (int axis = 0; axis < layout.view.rank(); ++axis) {
    if ((*repeats)[static_cast<size_t>(axis)] != 1) tiled.push_back(axis);
  }
  layout = planner.Expose(layout, tiled);
  Shape shape = planner.tensor(layout.tensor).shape;
  const Shape output = planner.tensor(planner.node().outputs[0]).shape;
  std::vector<int64_t> tensor_repeats(static_cast<size_t>(shape.rank()), 1);
  for (int axis : tiled) {
    const int tensor_axis = planner.TensorAxis(layout, axis);
    if (tensor_axis < 0) return false;
    tensor_repeats[static_cast<size_t>(tensor_axis)] = (*repeats)[static_cast<size_t>(axis)];
    const int64_t times = tensor_repeats[static_cast<size_t>(tensor_axis)];
    if (__builtin_mul_overflow(shape[tensor_axis], times, &shape[tensor_axis]) ||
        shape[tensor_axis] != output[axis])
      return false;
  }
  layout.tensor = planner.AddStep({layout.tensor, planner.AddInts(tensor_repeats)}, shape);
  for (int axis : tiled) layout.view.ReplaceAxis(axis, output[axis]);
  planner.SetOutput(0, std::move(layout));
  return true;
}

}  // namespace skiff
