#include "passes/layout/planner.h"

#include <algorithm>

#include "ops/op_codes.h"
#include "passes/layout/rules.h"

namespace skiff {
LayoutPlanner::LayoutPlanner(const LayoutProblem& problem, const LayoutChoices& choices)
    : problem_(problem), choices_(choices) {
  const Graph& graph = problem.graph;
  plan_.layouts.resize(static_cast<size_t>(graph.value_count()));
  plan_.tensors.resize(static_cast<size_t>(graph.value_count()));
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    LayoutTensor& tensor = plan_.tensors[static_cast<size_t>(id)];
    tensor.dtype = value.dtype;
    tensor.quantization = value.quantization;
    tensor.constant = value.IsConstant();
    tensor.named_after = id;
    if (value.has_static_shape() && value.dims.size() <= kMaxRank) tensor.shape = value.shape();
  }
}

LayoutPlan LayoutPlanner::Run() {
  for (const GraphPort& port : graph().inputs()) Settled(port.value);
  for (NodeId id : problem_.order) PlanNode(id);
  current_ = kNoNode;
  for (const GraphPort& port : graph().outputs()) {
    plan_.outputs.push_back(HasStaticShape(port.value) ? Plain(LayoutOf(port.value)) : port.value);
  }
  return std::move(plan_);
}

bool LayoutPlanner::HasStaticShape(ValueId id) const {
  const Value& value = graph().value(id);
  return value.has_static_shape() && value.dims.size() <= kMaxRank;
}

Layout LayoutPlanner::LayoutOf(ValueId value) const {
  if (const std::optional<Layout>& layout = plan_.layouts[static_cast<size_t>(value)]) return *layout;
  return {value, AxisView::Identity(tensor(value).shape), {}, value};
}

std::optional<std::vector<int64_t>> LayoutPlanner::ConstantInts(size_t i) const {
  const TensorData* data = graph().ConstantInput(current_, static_cast<int>(i));
  if (data == nullptr || IsFloat(data->dtype())) return {};
  return data->ToInts();
}

bool LayoutPlanner::LiesPlain(const Layout& layout) const {
  const Shape& shape = tensor(layout.tensor).shape;
  if (shape.rank() != layout.view.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != layout.view.AxisExtent(axis)) return false;
  }
  return layout.view.IsPlain();
}

bool LayoutPlanner::IsPlannable() const {
  const auto usable = [this](ValueId value) {
    return value == kNoValue || (HasStaticShape(value) && tensor(value).shape.elements() > 0);
  };
  return std::all_of(node().inputs.begin(), node().inputs.end(), usable) &&
         std::all_of(node().outputs.begin(), node().outputs.end(), usable);
}

void LayoutPlanner::PlanNode(NodeId id) {
  current_ = id;
  bool all_plain = node().op != OpCode::kTranspose;
  for (size_t i = 0; all_plain && i < InputCount(); ++i) all_plain = !HasInput(i) || LiesPlain(Input(i));
  const LayoutRule rule = FindLayoutRule(graph(), node());
  if (all_plain || rule == nullptr || !IsPlannable()) {
    KeepNode();
  } else {
    const Checkpoint before = Save();
    if (!rule(*this) || !HasOutputShapes()) {
      Restore(before);
      KeepNode();
    }
  }
  for (ValueId output : node().outputs) Settled(output);
}

bool LayoutPlanner::HasOutputShapes() const {
  return std::all_of(node().outputs.begin(), node().outputs.end(), [this](ValueId output) {
    const Shape& shape = tensor(output).shape;
    const Layout layout = LayoutOf(output);
    // A Gather or an Expand may add the factor that is one too many to be reshaped.
    bool same = layout.view.rank() == shape.rank() &&
                layout.view.Solid(layout.view.order).size() <= static_cast<size_t>(kMaxRank);
    for (int axis = 0; same && axis < shape.rank(); ++axis)
      same = layout.view.AxisExtent(axis) == shape[axis];
    return same;
  });
}

void LayoutPlanner::KeepNode() {
  PlanStep step;
  step.op = node().op;
  step.like = current_;
  step.in_place = true;
  for (size_t i = 0; i < InputCount(); ++i) step.inputs.push_back(PlainInput(i));
  if (step.inputs != node().inputs) plan_.steps.push_back(std::move(step));
  for (ValueId output : node().outputs) plan_.layouts[static_cast<size_t>(output)].reset();
}

TensorId LayoutPlanner::PlainInput(size_t i) {
  if (!HasInput(i)) return kNoValue;
  const ValueId value = node().inputs[i];
  return plan_.layouts[static_cast<size_t>(value)] ? Plain(LayoutOf(value)) : value;
}

void LayoutPlanner::Settled(ValueId value) {
  const auto choice = choices_.settle.find(value);
  if (choice == choices_.settle.end() || choice->second == Settle::kPending || !HasStaticShape(value)) return;
  const Layout layout = LayoutOf(value);
  const std::vector<int>& wanted = Wanted(value);
  if (choice->second == Settle::kWanted) {
    if (static_cast<int>(wanted.size()) == layout.view.rank())
      plan_.layouts[static_cast<size_t>(value)] = Ordered(layout, wanted);
  } else if (!LiesPlain(layout)) {
    const TensorId plain = Plain(layout);
    plan_.layouts[static_cast<size_t>(value)] =
        Layout{plain, AxisView::Identity(tensor(plain).shape), {}, value};
  }
}

void LayoutPlanner::SetOutput(size_t i, Layout layout) {
  const ValueId value = node().outputs[i];
  layout.value = value;
  plan_.layouts[static_cast<size_t>(value)] = std::move(layout);
}

TensorId LayoutPlanner::AddInts(std::vector<int64_t> values) {
  LayoutTensor& added = plan_.tensors.emplace_back();
  added.data = TensorData::OfInts(values);
  added.dtype = added.data->dtype();
  added.shape = added.data->shape();
  added.constant = true;
  return static_cast<TensorId>(plan_.tensors.size()) - 1;
}

std::vector<TensorId> LayoutPlanner::AddStep(OpCode op, const AttrStorage& attrs,
                                             std::vector<TensorId> inputs, const std::vector<Shape>& shapes) {
  PlanStep step;
  step.op = op;
  step.attrs = attrs;
  step.inputs = std::move(inputs);
  step.like = current_;
  for (size_t i = 0; i < shapes.size(); ++i) {
    step.outputs.push_back(static_cast<TensorId>(plan_.tensors.size()));
    LayoutTensor& output = plan_.tensors.emplace_back();
    output.dtype = tensor(node().outputs[i]).dtype;
    output.quantization = tensor(node().outputs[i]).quantization;
    output.shape = shapes[i];
    output.step = static_cast<int32_t>(plan_.steps.size());
    output.named_after = node().outputs[i];
  }
  plan_.steps.push_back(step);
  return step.outputs;
}

TensorId LayoutPlanner::Move(OpCode op, TensorId from, const Ints& perm, const Shape& shape,
                             const Layout& layout) {
  for (int32_t index : tensor(from).moves) {
    const PlanStep& known = plan_.steps[static_cast<size_t>(index)];
    if (known.op != op || !(tensor(known.outputs[0]).shape == shape)) continue;
    const Ints& known_perm = known.attrs.as<TransposeAttrs>().perm;
    if (op == OpCode::kReshape ||
        std::equal(perm.begin(), perm.end(), known_perm.begin(), known_perm.end())) {
      return known.outputs[0];
    }
  }
  const int32_t index = static_cast<int32_t>(plan_.steps.size());
  const TensorId id = static_cast<TensorId>(plan_.tensors.size());
  LayoutTensor moved;
  moved.dtype = tensor(from).dtype;
  moved.quantization = tensor(from).quantization;
  moved.shape = shape;
  moved.constant = tensor(from).constant;
  moved.step = index;
  moved.named_after = layout.value;
  plan_.tensors.push_back(std::move(moved));
  plan_.tensors[static_cast<size_t>(from)].moves.push_back(index);
  PlanStep step;
  step.op = op;
  InitAttrs(op, step.attrs);
  if (op == OpCode::kTranspose) step.attrs.as<TransposeAttrs>().perm = perm;
  step.inputs = {from};
  step.outputs = {id};
  step.like = current_;
  step.carries = layout.carries;
  plan_.steps.push_back(std::move(step));
  if (!tensor(id).constant) {
    if (op == OpCode::kTranspose) {
      plan_.cost.moved += shape.elements();
      ++plan_.cost.transposes;
      plan_.moves.push_back({layout.value, current_});
    } else {
      ++plan_.cost.reshapes;
    }
  }
  return id;
}

TensorId LayoutPlanner::Reshaped(TensorId from, const Shape& shape, const Layout& layout) {
  if (tensor(from).step >= 0 && StepOf(from).op == OpCode::kReshape) from = StepOf(from).inputs[0];
  if (tensor(from).shape == shape) return from;
  return Move(OpCode::kReshape, from, {}, shape, layout);
}

TensorId LayoutPlanner::Transposed(TensorId from, Ints perm, const Layout& layout) {
  // A value that was transposed early may be wanted as it was, or in a third order.
  while (tensor(from).step >= 0 && StepOf(from).op == OpCode::kTranspose) {
    const Ints& inner = StepOf(from).attrs.as<TransposeAttrs>().perm;
    for (int64_t i = 0; i < perm.size; ++i) perm[i] = inner[perm[i]];
    from = StepOf(from).inputs[0];
  }
  if (std::is_sorted(perm.begin(), perm.end())) return from;
  Shape shape;
  for (int64_t axis : perm) shape.Append(tensor(from).shape[static_cast<int>(axis)]);
  return Move(OpCode::kTranspose, from, perm, shape, layout);
}

void LayoutPlanner::Restore(const Checkpoint& to) {
  while (plan_.steps.size() > to.steps) {
    const PlanStep& step = plan_.steps.back();
    if (!step.in_place && (step.op == OpCode::kReshape || step.op == OpCode::kTranspose)) {
      plan_.tensors[static_cast<size_t>(step.inputs[0])].moves.pop_back();
    }
    plan_.steps.pop_back();
  }
  plan_.tensors.resize(to.tensors);
  plan_.moves.resize(to.moves);
  plan_.cost = to.cost;
}

TensorId LayoutPlanner::Arrange(const Layout& layout, const std::vector<std::vector<int>>& axes) {
  const AxisView& view = layout.view;
  Shape target;
  for (const std::vector<int>& axis : axes) target.Append(view.Extent(axis));
  if (view.LiesAs(axes)) return Reshaped(layout.tensor, target, layout);
  std::vector<AxisView::Run> runs = view.Runs(axes);
  if (runs.size() > static_cast<size_t>(kMaxRank)) {
    std::erase_if(runs, [](const AxisView::Run& run) { return run.extent == 1; });
  }
  Shape cut;
  Ints perm;
  perm.size = static_cast<int64_t>(runs.size());
  for (size_t run : AxisView::InMemory(runs)) {
    perm[static_cast<int64_t>(run)] = cut.rank();
    cut.Append(runs[run].extent);
  }
  const TensorId moved = Transposed(Reshaped(layout.tensor, cut, layout), perm, layout);
  return Reshaped(moved, target, layout);
}

Layout LayoutPlanner::Ordered(const Layout& layout, const std::vector<int>& order) {
  std::vector<std::vector<int>> groups;
  for (int axis : order) groups.push_back(layout.view.axes[static_cast<size_t>(axis)]);
  Layout result;
  result.tensor = Arrange(layout, groups);
  result.value = layout.value;
  result.view.order = order;
  for (int axis = 0; axis < layout.view.rank(); ++axis) {
    result.view.extents.push_back(layout.view.AxisExtent(axis));
    result.view.axes.push_back({axis});
  }
  if (!result.view.IsPlain()) result.carries = layout.carries;
  return result;
}

Layout LayoutPlanner::Regrouped(const Layout& layout) {
  const std::vector<AxisView::Run> runs = layout.view.Runs(layout.view.axes);
  if (runs.size() > static_cast<size_t>(kMaxRank)) return layout;
  Layout result;
  result.value = layout.value;
  result.carries = layout.carries;
  // One factor per run, named by its index; the runs of an axis come in the axis' order.
  result.view.axes.resize(layout.view.axes.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    result.view.extents.push_back(runs[i].extent);
    result.view.axes[static_cast<size_t>(runs[i].group)].push_back(static_cast<int>(i));
  }
  Shape shape;
  for (size_t run : AxisView::InMemory(runs)) {
    result.view.order.push_back(static_cast<int>(run));
    shape.Append(runs[run].extent);
  }
  result.tensor = Reshaped(layout.tensor, shape, layout);
  return result;
}

int LayoutPlanner::TensorAxis(const Layout& layout, int axis) const {
  const std::vector<int>& factors = layout.view.axes[static_cast<size_t>(axis)];
  if (factors.empty()) return -1;
  const std::vector<std::vector<int>> groups = layout.view.TensorAxes(tensor(layout.tensor).shape);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] == factors) return static_cast<int>(i);
  }
  return -1;
}

Layout LayoutPlanner::Expose(const Layout& layout, const std::vector<int>& axes) {
  const AxisView& view = layout.view;
  const std::vector<int> next = view.NextInMemory();
  bool exposed = true;
  bool scattered = false;
  for (int axis : axes) {
    const std::vector<int>& factors = view.axes[static_cast<size_t>(axis)];
    exposed &= TensorAxis(layout, axis) >= 0;
    for (size_t i = 1; i < factors.size(); ++i)
      scattered |= next[static_cast<size_t>(factors[i - 1])] != factors[i];
  }
  if (exposed) return layout;
  const std::vector<int>& wanted = Wanted(layout.value);
  if (wanted.size() == view.axes.size() && (scattered || view.Follows(wanted)))
    return Ordered(layout, wanted);
  return scattered ? Ordered(layout, view.MemoryOrder()) : Regrouped(layout);
}

}  // namespace skiff
