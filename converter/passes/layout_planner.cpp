#include "passes/layout_planner.h"

#include <algorithm>
#include <numeric>

#include "passes/layout_rules.h"

namespace skiff {
namespace {

Ints ToInts(const std::vector<int>& values) {
  Ints ints;
  for (int value : values) ints[ints.size++] = value;
  return ints;
}

}  // namespace

LayoutPlanner::LayoutPlanner(const LayoutProblem& problem, const LayoutChoices& choices)
    : problem_(problem), choices_(choices) {
  const Graph& graph = problem.graph;
  plan_.layouts.resize(static_cast<size_t>(graph.value_count()));
  plan_.tensors.resize(static_cast<size_t>(graph.value_count()));
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    PlanTensor& tensor = plan_.tensors[static_cast<size_t>(id)];
    tensor.dtype = value.dtype;
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
  const LayoutRule rule = FindLayoutRule(node().op);
  if (all_plain || rule == nullptr || !IsPlannable()) {
    KeepNode();
  } else {
    const Checkpoint before = Save();
    if (!rule(*this)) {
      Restore(before);
      KeepNode();
    }
  }
  for (ValueId output : node().outputs) Settled(output);
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
    if (static_cast<int>(wanted.size()) == layout.view.rank()) plan_.layouts[static_cast<size_t>(value)] = Ordered(layout, wanted);
  } else if (!LiesPlain(layout)) {
    const TensorId plain = Plain(layout);
    plan_.layouts[static_cast<size_t>(value)] = Layout{plain, AxisView::Identity(tensor(plain).shape), {}, value};
  }
}

void LayoutPlanner::SetOutput(size_t i, Layout layout) {
  const ValueId value = node().outputs[i];
  layout.value = value;
  plan_.layouts[static_cast<size_t>(value)] = std::move(layout);
}

TensorId LayoutPlanner::AddInts(std::vector<int64_t> values) {
  PlanTensor& added = plan_.tensors.emplace_back();
  added.data = TensorData::OfInts(values);
  added.dtype = added.data->dtype();
  added.shape = added.data->shape();
  added.constant = true;
  return static_cast<TensorId>(plan_.tensors.size()) - 1;
}

std::vector<TensorId> LayoutPlanner::AddStep(OpCode op, const AttrStorage& attrs, std::vector<TensorId> inputs,
                                             const std::vector<Shape>& shapes) {
  PlanStep step;
  step.op = op;
  step.attrs = attrs;
  step.inputs = std::move(inputs);
  step.like = current_;
  for (size_t i = 0; i < shapes.size(); ++i) {
    step.outputs.push_back(static_cast<TensorId>(plan_.tensors.size()));
    PlanTensor& output = plan_.tensors.emplace_back();
    output.dtype = tensor(node().outputs[i]).dtype;
    output.shape = shapes[i];
    output.step = static_cast<int32_t>(plan_.steps.size());
    output.named_after = node().outputs[i];
  }
  plan_.steps.push_back(step);
  return step.outputs;
}

TensorId LayoutPlanner::Move(OpCode op, TensorId from, const Ints& perm, const Shape& shape, const Layout& layout) {
  for (int32_t index : tensor(from).moves) {
    const PlanStep& known = plan_.steps[static_cast<size_t>(index)];
    if (known.op != op || !(tensor(known.outputs[0]).shape == shape)) continue;
    const Ints& known_perm = known.attrs.as<TransposeAttrs>().perm;
    if (op == OpCode::kReshape || std::equal(perm.begin(), perm.end(), known_perm.begin(), known_perm.end())) {
      return known.outputs[0];
    }
  }
  const int32_t index = static_cast<int32_t>(plan_.steps.size());
  const TensorId id = static_cast<TensorId>(plan_.tensors.size());
  PlanTensor moved;
  moved.dtype = tensor(from).dtype;
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
  if (tensor(from).step >= 0) {
    const PlanStep& step = plan_.steps[static_cast<size_t>(tensor(from).step)];
    if (step.op == OpCode::kReshape) from = step.inputs[0];
  }
  if (tensor(from).shape == shape) return from;
  return Move(OpCode::kReshape, from, {}, shape, layout);
}

TensorId LayoutPlanner::Transposed(TensorId from, const Ints& perm, const Layout& layout) {
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
  /// Factors that lie together in memory and in the target: they move as one axis.
  struct Run {
    int place;
    int64_t extent;
  };
  const AxisView& view = layout.view;
  const std::vector<int> positions = view.Positions();
  const std::vector<int> next = view.NextInMemory();
  const std::vector<int> memory = view.Solid(view.order);
  std::vector<Run> runs;
  Shape target;
  bool moves = false;
  size_t seen = 0;
  for (const std::vector<int>& axis : axes) {
    int64_t extent = 1;
    int last = -1;
    for (int factor : axis) {
      if (view.IsUnit(factor)) continue;
      const int64_t length = view.extents[static_cast<size_t>(factor)];
      moves |= memory[seen++] != factor;
      if (last >= 0 && next[static_cast<size_t>(last)] == factor) {
        runs.back().extent *= length;
      } else {
        runs.push_back({positions[static_cast<size_t>(factor)], length});
      }
      last = factor;
      extent *= length;
    }
    if (last < 0) {
      const int beside = runs.empty() ? -1 : runs.back().place;
      runs.push_back({axis.empty() ? beside : positions[static_cast<size_t>(axis.front())], 1});
    }
    target.Append(extent);
  }
  if (!moves) return Reshaped(layout.tensor, target, layout);
  if (runs.size() > static_cast<size_t>(kMaxRank)) std::erase_if(runs, [](const Run& run) { return run.extent == 1; });
  std::vector<int> by_place(runs.size());
  std::iota(by_place.begin(), by_place.end(), 0);
  std::stable_sort(by_place.begin(), by_place.end(), [&](int a, int b) {
    return runs[static_cast<size_t>(a)].place < runs[static_cast<size_t>(b)].place;
  });
  Shape cut;
  std::vector<int> perm(runs.size());
  for (size_t i = 0; i < by_place.size(); ++i) {
    cut.Append(runs[static_cast<size_t>(by_place[i])].extent);
    perm[static_cast<size_t>(by_place[i])] = static_cast<int>(i);
  }
  const TensorId moved = Transposed(Reshaped(layout.tensor, cut, layout), ToInts(perm), layout);
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
  struct Run {
    int place;
    int axis;
    int64_t extent;
  };
  const AxisView& view = layout.view;
  const std::vector<int> positions = view.Positions();
  const std::vector<int> next = view.NextInMemory();
  std::vector<Run> runs;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const std::vector<int>& factors = view.axes[static_cast<size_t>(axis)];
    int last = -1;
    for (int factor : factors) {
      const int64_t extent = view.extents[static_cast<size_t>(factor)];
      if (last >= 0 && next[static_cast<size_t>(last)] == factor) {
        runs.back().extent *= extent;
      } else {
        runs.push_back({positions[static_cast<size_t>(factor)], axis, extent});
      }
      last = factor;
    }
    if (factors.empty()) runs.push_back({runs.empty() ? -1 : runs.back().place, axis, 1});
  }
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.place < b.place; });
  if (runs.size() > static_cast<size_t>(kMaxRank)) return layout;
  Layout result;
  result.value = layout.value;
  result.carries = layout.carries;
  result.view.axes.resize(view.axes.size());
  Shape shape;
  for (size_t i = 0; i < runs.size(); ++i) {
    result.view.extents.push_back(runs[i].extent);
    result.view.order.push_back(static_cast<int>(i));
    shape.Append(runs[i].extent);
  }
  // The runs of one axis, in the axis' own order: that of its factors.
  for (int axis = 0; axis < view.rank(); ++axis) {
    std::vector<int>& factors = result.view.axes[static_cast<size_t>(axis)];
    for (int factor : view.axes[static_cast<size_t>(axis)]) {
      for (size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].axis == axis && runs[i].place == positions[static_cast<size_t>(factor)]) factors.push_back(static_cast<int>(i));
      }
    }
    for (size_t i = 0; factors.empty() && i < runs.size(); ++i) {
      if (runs[i].axis == axis) factors.push_back(static_cast<int>(i));
    }
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
    for (size_t i = 1; i < factors.size(); ++i) scattered |= next[static_cast<size_t>(factors[i - 1])] != factors[i];
  }
  if (exposed) return layout;
  const std::vector<int>& wanted = Wanted(layout.value);
  if (wanted.size() == view.axes.size() && (scattered || view.Follows(wanted))) return Ordered(layout, wanted);
  return scattered ? Ordered(layout, view.MemoryOrder()) : Regrouped(layout);
}

}  // namespace skiff
