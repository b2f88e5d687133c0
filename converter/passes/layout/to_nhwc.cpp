// Pushes transposes through the graph until they meet and cancel.
//
// Importers write each operator of a channels-first source as Transpose(0, 2, 3, 1), the channels-last
// operator, Transpose(0, 3, 1, 2). This pass plans a layout for every value: reshapes and transpositions stay
// pending (AxisView) while operators compute on the elements as they lie, and are carried out only where an
// operator needs its own order. Most meet their inverse on the way and are never carried out. A second step
// looks at those that are left and tries to carry them out elsewhere, where fewer elements move. The graph
// changes only if the plan is better than it.
#include <algorithm>
#include <optional>
#include <set>

#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/layout/rules.h"
#include "passes/passes.h"
#include "passes/shapes/nominal_sizes.h"

namespace skiff {
namespace {

PlanCost CostOf(const Graph& graph) {
  PlanCost cost;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.removed || node.op != OpCode::kTranspose) continue;
    const Value& result = graph.value(node.outputs[0]);
    // The planner leaves others alone.
    if (!result.has_static_shape() || !graph.value(node.inputs[0]).has_static_shape()) continue;
    ++cost.transposes;
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
      : problem_(graph), plan_(PlanWith({})), plans_left_(kNodesToPlan / (NodesToPlan() + 1)) {}

  void Run() {
    while (Improve()) {
    }
  }
  const LayoutPlan& plan() const { return plan_; }
  const LayoutChoices& choices() const { return choices_; }

 private:
  /// Bounds the time of the search: plans that may be made, times nodes. A node takes about a microsecond,
  /// one of many operands as long as several.
  static constexpr size_t kNodesToPlan = 100'000;
  static constexpr size_t kOperandsOfOne = 8;
  /// How many values before a transposition are looked at.
  static constexpr size_t kMaxUpstream = 32;

  size_t NodesToPlan() const {
    size_t count = 0;
    for (const NodeId id : problem_.order)
      count += 1 + problem_.graph.node(id).inputs.size() / kOperandsOfOne;
    return count;
  }

  LayoutPlan PlanWith(const LayoutChoices& choices) { return LayoutPlanner(problem_, choices).Run(); }

  /// Takes the best change around one transposition; false where no change around any of them is better.
  bool Improve() {
    std::set<ValueId> seen;
    for (const PlanMove& move : plan_.moves) {
      std::optional<LayoutChoices> best;
      PlanCost least = plan_.cost;
      for (ValueId value : Upstream(move)) {
        if (!seen.insert(value).second) continue;
        for (LayoutChoices& changed : ChangesAt(value)) {
          if (plans_left_ == 0) break;
          --plans_left_;
          const PlanCost cost = PlanWith(changed).cost;
          if (!(cost < least)) continue;
          least = cost;
          best = std::move(changed);
        }
      }
      if (!best) continue;
      choices_ = *std::move(best);
      plan_ = PlanWith(choices_);
      return true;
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
    if (move.at != kNoNode && HasWays(move.at)) {
      for (ValueId output : graph.node(move.at).outputs) add(output);
    }
    add(move.value);
    for (size_t i = 0; i < values.size(); ++i) {
      const NodeId producer = graph.value(values[i]).producer;
      if (producer == kNoNode || FindLayoutRule(graph, graph.node(producer)) == nullptr) continue;
      for (ValueId input : graph.node(producer).inputs) add(input);
    }
    return values;
  }

  /// Whether the planner has a choice at this node: which of several inputs the others follow.
  bool HasWays(NodeId id) const {
    const Node& node = problem_.graph.node(id);
    const LayoutRule rule = FindLayoutRule(problem_.graph, node);
    return node.inputs.size() > 1 && (rule == PlanElementwise || rule == PlanConcat || rule == PlanMatMul);
  }

  /// Another input to follow, or another time to transpose.
  std::vector<LayoutChoices> ChangesAt(ValueId value) const {
    std::vector<LayoutChoices> changes;
    const NodeId producer = problem_.graph.value(value).producer;
    for (size_t winner = 0; producer != kNoNode && HasWays(producer) && winner < 2; ++winner) {
      changes.emplace_back(choices_).winner[producer] = winner;
    }
    const auto known = choices_.settle.find(value);
    for (const Settle settle : {Settle::kPending, Settle::kPlain, Settle::kWanted}) {
      if (settle == Settle::kWanted && problem_.wanted[static_cast<size_t>(value)].empty()) continue;
      if (settle == (known == choices_.settle.end() ? Settle::kPending : known->second)) continue;
      changes.emplace_back(choices_).settle[value] = settle;
    }
    return changes;
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

namespace {

/// The search that has found something better than the graph as it is.
std::optional<LayoutSearch> FindBetter(const Graph& graph) {
  const PlanCost before = CostOf(graph);
  if (before.transposes == 0) return {};
  std::optional<LayoutSearch> search(graph);
  search->Run();
  const PlanCost& cost = search->plan().cost;
  if (std::pair(cost.moved, cost.transposes) < std::pair(before.moved, before.transposes)) return search;
  return {};
}

/// Of the constants that users want in many orders there would be as many.
bool TakeOrders(Graph& graph, const LayoutPlan& plan) {
  return TakeFoldingBytes(graph, BytesOfFurtherOrders(plan));
}

/// Whether plans for two sizes of a graph do the same at both: shapes may differ, lists and attributes not.
bool DoTheSame(const LayoutPlan& a, const LayoutPlan& b) {
  const auto same_step = [](const PlanStep& one, const PlanStep& other) {
    return one.op == other.op && one.inputs == other.inputs && one.outputs == other.outputs &&
           one.in_place == other.in_place &&
           PrintAttrs(one.op, one.attrs) == PrintAttrs(other.op, other.attrs);
  };
  const auto same_data = [](const LayoutTensor& one, const LayoutTensor& other) {
    return one.data.has_value() == other.data.has_value() &&
           (!one.data || one.data->ToInts() == other.data->ToInts());
  };
  return a.outputs == b.outputs &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step) &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same_data);
}

bool HasOpenDims(const Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).has_shape && !graph.value(id).has_static_shape()) return true;
  }
  return false;
}

/// False where a plan cannot be told from nominal sizes: of what depends on data, for one, as all that is
/// behind the boxes of a detector does.
bool PlanAtNominalSizes(Graph& graph) {
  const std::optional<NominalSizes> nominal = NominalSizes::Choose(graph);
  if (!nominal) return false;
  Graph sized = graph;
  nominal->Apply(sized);
  const std::optional<LayoutSearch> found = FindBetter(sized);
  if (!found) return true;
  // A number that depends on a nominal size is another one at other sizes.
  const std::optional<NominalSizes> others = NominalSizes::Choose(graph, &*nominal);
  if (!others) return false;
  Graph other = graph;
  others->Apply(other);
  const LayoutProblem problem(other);
  if (!DoTheSame(found->plan(), LayoutPlanner(problem, found->choices()).Run())) return false;
  if (!TakeOrders(sized, found->plan())) return true;
  ApplyLayoutPlan(sized, found->plan());
  if (!nominal->Restore(graph, sized)) return false;
  graph = std::move(sized);
  return true;
}

}  // namespace

void ToNhwc(Graph& graph) {
  if (HasOpenDims(graph) && PlanAtNominalSizes(graph)) return;
  const std::optional<LayoutSearch> found = FindBetter(graph);
  if (found && TakeOrders(graph, found->plan())) ApplyLayoutPlan(graph, found->plan());
}

}  // namespace skiff
