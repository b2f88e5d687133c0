/// Plans layouts: walks the graph once, keeps every reshape and transposition pending as an AxisView, and
/// carries one out only where an operator cannot take its input as it lies.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/layout/plan.h"

namespace skiff {

/// Deviations from what the planner does by default; the search of ToNhwc tries them.
enum class Settle : uint8_t {
  kPending,  ///< Leave the value's transposition to those who use it.
  kPlain,    ///< Transpose it at once into the value's own order.
  kWanted,   ///< Transpose it at once into the order that its users want.
};
struct LayoutChoices {
  std::unordered_map<ValueId, Settle> settle;
  std::unordered_map<NodeId, size_t>
      winner;  ///< Which of the inputs with different layouts the others follow.
};

/// What is known before planning.
struct LayoutProblem {
  explicit LayoutProblem(const Graph& graph);
  const Graph& graph;
  std::vector<NodeId> order;
  /// By value: the order of its axes in memory that its users would like best, from the transpositions behind
  /// it; empty when unknown.
  std::vector<std::vector<int>> wanted;
};

class LayoutPlanner {
 public:
  LayoutPlanner(const LayoutProblem& problem, const LayoutChoices& choices);
  LayoutPlan Run();

  // For the rules.
  const Graph& graph() const { return problem_.graph; }
  const Node& node() const { return graph().node(current_); }
  NodeId current() const { return current_; }
  size_t InputCount() const { return node().inputs.size(); }
  bool HasInput(size_t i) const { return i < InputCount() && node().inputs[i] != kNoValue; }
  bool IsConstant(const Layout& layout) const { return tensor(layout.tensor).constant; }
  const LayoutTensor& tensor(TensorId id) const { return plan_.tensors[static_cast<size_t>(id)]; }
  const std::vector<int>& Wanted(ValueId value) const { return problem_.wanted[static_cast<size_t>(value)]; }
  Layout LayoutOf(ValueId value) const;
  Layout Input(size_t i) const { return LayoutOf(node().inputs[i]); }
  /// The tensor is the value: same order, same shape.
  bool LiesPlain(const Layout& layout) const;
  /// The elements of an integer constant behind input i; nothing where it is absent or not constant.
  std::optional<std::vector<int64_t>> ConstantInts(size_t i) const;

  /// The tensor whose axes are these groups of the layout's factors. Reshapes, and transposes where they do
  /// not lie in this order.
  TensorId Arrange(const Layout& layout, const std::vector<std::vector<int>>& axes);
  TensorId Plain(const Layout& layout) { return Arrange(layout, layout.view.axes); }
  /// Input i in its own order; kNoValue where it is absent.
  TensorId PlainInput(size_t i);
  TensorId Reshaped(TensorId from, const Shape& shape, const Layout& layout);
  /// The same value with its axes in this order in memory, each one axis of the tensor.
  Layout Ordered(const Layout& layout, const std::vector<int>& order);
  /// The same value where each of these axes is one axis of the tensor; where elements must move for that,
  /// into the wanted order.
  Layout Expose(const Layout& layout, const std::vector<int>& axes);
  /// Which axis of the tensor an axis is; -1 where it is not exactly one.
  int TensorAxis(const Layout& layout, int axis) const;

  TensorId AddInts(std::vector<int64_t> values);
  /// Adds a step that rewrites the current node; outputs have the node's dtypes.
  std::vector<TensorId> AddStep(OpCode op, const AttrStorage& attrs, std::vector<TensorId> inputs,
                                const std::vector<Shape>& shapes);
  TensorId AddStep(std::vector<TensorId> inputs, const Shape& shape) {
    return AddStep(node().op, node().attrs, std::move(inputs), {shape})[0];
  }
  void SetOutput(size_t i, Layout layout);
  /// Takes all inputs in their own order and keeps the node.
  void KeepNode();

  /// The way of `count` to plan the current node that moves least, the first of these: `way(i)` plans the
  /// node, or returns false. Reshapes do not count: what they save here is lost behind the node as easily.
  template <class Way>
  bool Cheapest(size_t count, Way&& way);

 private:
  struct Checkpoint {
    size_t tensors, steps, moves;
    PlanCost cost;
  };
  Checkpoint Save() const {
    return {plan_.tensors.size(), plan_.steps.size(), plan_.moves.size(), plan_.cost};
  }
  void Restore(const Checkpoint& to);

  void PlanNode(NodeId id);
  bool IsPlannable() const;
  /// What a rule has found is what the graph says. It need not be where a nominal size is none that the
  /// contract of its Symbol allows: the last 64 of at most 64 rows are all of them, but not of 2003.
  bool HasOutputShapes() const;
  bool HasStaticShape(ValueId value) const;
  TensorId Move(OpCode op, TensorId from, const Ints& perm, const Shape& shape, const Layout& layout);
  TensorId Transposed(TensorId from, Ints perm, const Layout& layout);
  const PlanStep& StepOf(TensorId id) const { return plan_.steps[static_cast<size_t>(tensor(id).step)]; }
  /// The same value, each stretch of an axis that lies together as one axis of the tensor.
  Layout Regrouped(const Layout& layout);
  /// Carries out what the choices say about a value that has just got its layout.
  void Settled(ValueId value);

  const LayoutProblem& problem_;
  const LayoutChoices& choices_;
  LayoutPlan plan_;
  NodeId current_ = kNoNode;
};

template <class Way>
bool LayoutPlanner::Cheapest(size_t count, Way&& way) {
  const auto chosen = choices_.winner.find(current_);
  if (chosen != choices_.winner.end() && chosen->second < count) return way(chosen->second);
  if (count <= 1) return count == 1 && way(0);
  const Checkpoint before = Save();
  std::optional<size_t> best;
  int64_t least = 0;
  for (size_t i = 0; i < count; ++i) {
    if (way(i) && (!best || plan_.cost.moved < least)) {
      best = i;
      least = plan_.cost.moved;
    }
    Restore(before);
  }
  return best && way(*best);
}

}  // namespace skiff
