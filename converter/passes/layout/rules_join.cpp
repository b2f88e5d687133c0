// Layout rules of operators that bring several values together: one input leads, the others follow its
// layout.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/layout/rules.h"

namespace skiff {
namespace {

bool SameView(const AxisView& a, const AxisView& b) {
  return a.order == b.order && a.extents == b.extents && a.axes == b.axes;
}

/// The layout of a value that is broadcast to a higher rank: axes of extent 1 in front.
Layout Aligned(Layout layout, int rank) {
  const int missing = rank - layout.view.rank();
  layout.view.axes.insert(layout.view.axes.begin(), static_cast<size_t>(missing), {});
  return layout;
}

/// So many are tried: each plans the node once, with all its operands.
constexpr size_t kMostLeaders = 8;

/// By input: which may lead, without those that lie like one before them; inputs in the wanted order come
/// first.
std::vector<size_t> Leaders(const LayoutPlanner& planner, const std::vector<Layout>& operands,
                            const std::vector<bool>& eligible) {
  const std::vector<int>& wanted = planner.Wanted(planner.node().outputs[0]);
  std::vector<size_t> leaders;
  std::vector<size_t> others;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto same = [&](size_t leader) { return SameView(operands[leader].view, operands[i].view); };
    std::vector<size_t>& alike = operands[i].view.Follows(wanted) ? leaders : others;
    if (eligible[i] && alike.size() < kMostLeaders && std::none_of(alike.begin(), alike.end(), same))
      alike.push_back(i);
  }
  leaders.insert(leaders.end(), others.begin(), others.end());
  leaders.resize(std::min(leaders.size(), kMostLeaders));
  return leaders;
}

/// Cuts all axes of two views alike, except where `follower` has extent 1 and except axis `free`.
bool CutAxesAlike(AxisView& lead, AxisView& follower, int free) {
  if (SameView(lead, follower)) return true;
  for (int axis = 0; axis < lead.rank(); ++axis) {
    if (axis != free && follower.AxisExtent(axis) > 1 && !CutAlike(lead, axis, follower, axis)) return false;
  }
  return true;
}

/// Cuts the views of all operands so that every factor of a follower is a factor of the lead. An operand
/// whose cuts do not match is taken in its own order, where it can be cut anywhere.
bool CutOperandsAlike(LayoutPlanner& planner, std::vector<Layout>& operands, size_t lead, int free) {
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i == lead || CutAxesAlike(operands[lead].view, operands[i].view, free)) continue;
      const TensorId plain = planner.Plain(operands[i]);
      operands[i] = {plain, AxisView::Identity(planner.tensor(plain).shape), {}, operands[i].value};
      if (!CutAxesAlike(operands[lead].view, operands[i].view, free)) return false;
    }
  }
  return true;
}

/// By factor of the lead: the follower's factor at the same place, or -1 where it has extent 1.
std::vector<int> MatchFactors(const AxisView& lead, const AxisView& follower, int free) {
  std::vector<int> match(lead.extents.size(), -1);
  for (int axis = 0; axis < lead.rank(); ++axis) {
    const std::vector<int> theirs = follower.Solid(follower.axes[static_cast<size_t>(axis)]);
    if (axis == free || theirs.empty()) continue;
    const std::vector<int> ours = lead.Solid(lead.axes[static_cast<size_t>(axis)]);
    for (size_t i = 0; i < ours.size(); ++i) match[static_cast<size_t>(ours[i])] = theirs[i];
  }
  return match;
}

/// Whether a tensor of this shape can be broadcast as it is where `target` is meant.
bool BroadcastsAs(const Shape& shape, const Shape& target) {
  if (shape.rank() > target.rank()) return false;
  for (int i = 1; i <= target.rank(); ++i) {
    if (target[target.rank() - i] != (i <= shape.rank() ? shape[shape.rank() - i] : 1)) return false;
  }
  return true;
}

bool FollowElementwise(LayoutPlanner& planner, std::vector<Layout> operands, size_t lead_index) {
  if (planner.LiesPlain(operands[lead_index])) {
    planner.KeepNode();
    return true;
  }
  if (!CutOperandsAlike(planner, operands, lead_index, -1)) return false;
  Layout lead = operands[lead_index];
  // Factors that the same operands have can stay in one axis of the lead's tensor.
  std::vector<std::vector<int>> matches;
  std::vector<uint64_t> present(lead.view.extents.size(), 0);
  for (size_t i = 0; i < operands.size(); ++i) {
    matches.push_back(MatchFactors(lead.view, operands[i].view, -1));
    for (size_t factor = 0; factor < present.size(); ++factor) {
      if (matches[i][factor] >= 0) present[factor] |= uint64_t{1} << i;
    }
  }
  const std::vector<std::vector<int>> groups =
      lead.view.CutTensorAxes(planner.tensor(lead.tensor).shape, present);
  if (groups.size() > static_cast<size_t>(kMaxRank)) return false;
  std::vector<TensorId> inputs;
  Shape shape;
  for (const std::vector<int>& group : groups) shape.Append(lead.view.Extent(group));
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<std::vector<int>> axes;
    Shape target;
    for (const std::vector<int>& group : groups) {
      std::vector<int>& axis = axes.emplace_back();
      for (int factor : group) {
        if (matches[i][static_cast<size_t>(factor)] >= 0)
          axis.push_back(matches[i][static_cast<size_t>(factor)]);
      }
      target.Append(operands[i].view.Extent(axis));
    }
    const bool as_it_is =
        operands[i].view.LiesAs(axes) && BroadcastsAs(planner.tensor(operands[i].tensor).shape, target);
    inputs.push_back(as_it_is ? operands[i].tensor : planner.Arrange(operands[i], axes));
  }
  lead.tensor = planner.AddStep(std::move(inputs), shape);
  planner.SetOutput(0, std::move(lead));
  return true;
}

bool FollowConcat(LayoutPlanner& planner, std::vector<Layout> operands, size_t lead_index, int axis) {
  operands[lead_index] = planner.Expose(operands[lead_index], {axis});
  if (planner.LiesPlain(operands[lead_index])) {
    planner.KeepNode();
    return true;
  }
  if (!CutOperandsAlike(planner, operands, lead_index, axis)) return false;
  Layout lead = operands[lead_index];
  Shape shape = planner.tensor(lead.tensor).shape;
  const int tensor_axis = planner.TensorAxis(lead, axis);
  if (tensor_axis < 0) return false;
  const std::vector<std::vector<int>> groups = lead.view.TensorAxes(shape);
  std::vector<TensorId> inputs;
  int64_t total = 0;
  for (const Layout& operand : operands) {
    const std::vector<int> match = MatchFactors(lead.view, operand.view, axis);
    std::vector<std::vector<int>> axes;
    for (const std::vector<int>& group : groups) {
      std::vector<int>& matched = axes.emplace_back();
      for (int factor : group) {
        if (match[static_cast<size_t>(factor)] >= 0) matched.push_back(match[static_cast<size_t>(factor)]);
      }
    }
    axes[static_cast<size_t>(tensor_axis)] = operand.view.axes[static_cast<size_t>(axis)];
    inputs.push_back(planner.Arrange(operand, axes));
    total += operand.view.AxisExtent(axis);
  }
  shape[tensor_axis] = total;
  AttrStorage attrs = planner.node().attrs;
  attrs.as<AxisAttrs>().axis = tensor_axis;
  lead.tensor = planner.AddStep(OpCode::kConcat, attrs, std::move(inputs), {shape})[0];
  lead.view.ReplaceAxis(axis, total);
  planner.SetOutput(0, std::move(lead));
  return true;
}

}  // namespace

bool PlanElementwise(LayoutPlanner& planner) {
  const Shape& shape = planner.tensor(planner.node().outputs[0]).shape;
  std::vector<Layout> operands;
  std::vector<bool> eligible;
  for (size_t i = 0; i < planner.InputCount(); ++i) {
    operands.push_back(Aligned(planner.Input(i), shape.rank()));
    bool full = !planner.IsConstant(operands.back());
    for (int axis = 0; axis < shape.rank(); ++axis)
      full &= operands.back().view.AxisExtent(axis) == shape[axis];
    eligible.push_back(full);
  }
  const std::vector<size_t> leaders = Leaders(planner, operands, eligible);
  return planner.Cheapest(leaders.size(),
                          [&](size_t i) { return FollowElementwise(planner, operands, leaders[i]); });
}

bool PlanConcat(LayoutPlanner& planner) {
  const int rank = planner.tensor(planner.node().outputs[0]).shape.rank();
  const int axis = NormalizeAxis(planner.node().As<AxisAttrs>().axis, rank);
  std::vector<Layout> operands;
  std::vector<bool> eligible;
  for (size_t i = 0; i < planner.InputCount(); ++i) {
    operands.push_back(planner.Input(i));
    eligible.push_back(!planner.IsConstant(operands.back()));
  }
  const std::vector<size_t> leaders = Leaders(planner, operands, eligible);
  return planner.Cheapest(leaders.size(),
                          [&](size_t i) { return FollowConcat(planner, operands, leaders[i], axis); });
}

}  // namespace skiff
