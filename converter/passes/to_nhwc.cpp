// Pushes transposes through the graph until they meet and cancel.
//
// Importers write each operator of a channels-first source as Transpose(0, 2, 3, 1), the channels-last operator,
// Transpose(0, 3, 1, 2). This pass plans a layout for every value: reshapes and transpositions stay pending (AxisView)
// while operators compute on the elements as they lie, and are carried out only where an operator needs its own order.
// Most meet their inverse on the way and are never carried out. A second step looks at those that are left and tries
// to carry them out elsewhere, where fewer elements move. The graph changes only if the plan is better than it.
#include <algorithm>
#include <set>

#include "passes/layout_rules.h"
#include "passes/passes.h"

namespace skiff {
namespace {

PlanCost CostOf(const Graph& graph) {
  PlanCost cost;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.removed || node.op != OpCode::kTranspose) continue;
    const Value& result = graph.value(node.outputs[0]);
    ++cost.transposes;
    if (!result.has_static_shape() || !graph.value(node.inputs[0]).has_static_shape()) continue;
    if (MovesElements(graph.value(node.inputs[0]).shape(), node.As<TransposeAttrs>().perm)) {
      cost.moved += result.shape().elements();
    }
  }
  return cost;
}

/// Tries other places for the transpositions that are left.
class LayoutSearch {
 public:
  explicit LayoutSearch(const Graph& graph)
      : problem_(graph), plan_(PlanWith({})), plans_left_(kNodesToPlan / (problem_.order.size() + 1)) {}

  LayoutPlan Run() {
    while (Improve()) {
    }
    return std::move(plan_);
  }

 private:
  /// Bounds the time of the search: plans that may be made, times nodes. A node takes about a microsecond.
  static constexpr size_t kNodesToPlan = 100'000;
  /// How many values before a transposition are looked at.
  static constexpr size_t kMaxUpstream = 32;

  LayoutPlan PlanWith(const LayoutChoices& choices) { return LayoutPlanner(problem_, choices).Run(); }

  bool Improve() {
    std::set<ValueId> seen;
    const std::vector<PlanMove> moves = plan_.moves;
    for (const PlanMove& move : moves) {
      for (ValueId value : Upstream(move)) {
        if (!seen.insert(value).second) continue;
        if (TryAround(value)) return true;
        if (plans_left_ == 0) return false;
      }
    }
    return false;
  }

  /// The value that is transposed, and those whose layout it has taken over, nearest first.
  std::vector<ValueId> Upstream(const PlanMove& move) const {
    const Graph& graph = problem_.graph;
    std::vector<ValueId> values;
    const auto add = [&](ValueId value) {
      if (value == kNoValue || graph.value(value).constant || values.size() >= kMaxUpstream) return;
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    };
    if (move.at != kNoNode) {
      for (ValueId output : graph.node(move.at).outputs) add(output);
    }
    add(move.value);
    for (size_t i = 0; i < values.size(); ++i) {
      const NodeId producer = graph.value(values[i]).producer;
      if (producer == kNoNode || FindLayoutRule(graph.node(producer).op) == nullptr) continue;
      for (ValueId input : graph.node(producer).inputs) add(input);
    }
    return values;
  }

  /// Another input to follow first: that moves nothing by itself.
  bool TryAround(ValueId value) {
    const NodeId producer = problem_.graph.value(value).producer;
    const LayoutRule rule = producer == kNoNode ? nullptr : FindLayoutRule(problem_.graph.node(producer).op);
    const bool has_ways = rule == PlanElementwise || rule == PlanConcat || rule == PlanMatMul;
    for (size_t winner = 0; has_ways && winner < 2 && problem_.graph.node(producer).inputs.size() > 1; ++winner) {
      LayoutChoices changed = choices_;
      changed.winner[producer] = winner;
      if (Try(changed)) return true;
    }
    for (const Settle settle : {Settle::kPending, Settle::kPlain, Settle::kWanted}) {
      if (settle == Settle::kWanted && problem_.wanted[static_cast<size_t>(value)].empty()) continue;
      const auto known = choices_.settle.find(value);
      if (settle == (known == choices_.settle.end() ? Settle::kPending : known->second)) continue;
      LayoutChoices changed = choices_;
      changed.settle[value] = settle;
      if (Try(changed)) return true;
    }
    return false;
  }

  bool Try(const LayoutChoices& changed) {
    if (plans_left_ == 0) return false;
    --plans_left_;
    LayoutPlan plan = PlanWith(changed);
    if (!(plan.cost < plan_.cost)) return false;
    plan_ = std::move(plan);
    choices_ = changed;
    return true;
  }

  LayoutProblem problem_;
  LayoutChoices choices_;
  LayoutPlan plan_;
  size_t plans_left_;
};

}  // namespace

bool MovesElements(const Shape& shape, const Ints& perm) {
  int64_t last = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t axis = perm.size == 0 ? shape.rank() - 1 - i : perm[i];
    if (shape[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return true;
    last = axis;
  }
  return false;
}

void ToNhwc(Graph& graph) {
  const PlanCost before = CostOf(graph);
  if (before.transposes == 0) return;
  const LayoutPlan plan = LayoutSearch(graph).Run();
  if (std::pair(plan.cost.moved, plan.cost.transposes) < std::pair(before.moved, before.transposes)) {
    ApplyLayoutPlan(graph, plan);
  }
}

}  // namespace skiff
