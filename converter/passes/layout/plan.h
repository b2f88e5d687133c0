/// The plan of ToNhwc: what the graph would become, as data, so that alternatives can be costed without
/// touching it.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "passes/layout/axis_view.h"

namespace skiff {

/// Index of a LayoutTensor. The graph's values come first: TensorId i < value_count is the value i as it is.
using TensorId = int32_t;

struct LayoutTensor {
  DType dtype = DType::kInvalid;
  QuantizationPtr quantization;  ///< Per tensor: nodes with others keep their order.
  Shape shape;
  bool constant = false;
  std::optional<TensorData> data;  ///< A constant that the plan made up (the axes of a Slice).
  int32_t step = -1;               ///< The step that makes it; -1 for the graph's own values and for `data`.
  std::vector<int32_t> moves;      ///< Steps that reshape or transpose it, for reuse.
  ValueId named_after = kNoValue;  ///< The value of the graph whose name the emitted value takes.
};

/// One operator of the new graph.
struct PlanStep {
  OpCode op{};
  AttrStorage attrs;
  std::vector<TensorId> inputs;  ///< kNoValue where absent. Reshape lists its data only.
  std::vector<TensorId> outputs;
  NodeId like = kNoNode;        ///< The node that it rewrites, or that needed it; kNoNode for a graph output.
  bool in_place = false;        ///< The node `like` stays and only gets these inputs.
  std::vector<NodeId> carries;  ///< Nodes of the graph that a transposition or reshape carries out.
};

/// A value of the graph: the elements of `tensor`, seen through `view`.
struct Layout {
  TensorId tensor = -1;
  AxisView view;
  std::vector<NodeId> carries;  ///< Reshapes and transpositions in the view that nobody has carried out yet.
  ValueId value = kNoValue;
};

/// Elements that transpositions move at run time, then the number of those, then the number of reshapes.
struct PlanCost {
  int64_t moved = 0;
  int64_t transposes = 0;
  int64_t reshapes = 0;
  auto operator<=>(const PlanCost&) const = default;
};

/// A transposition in the plan: the value and the node where it was needed.
struct PlanMove {
  ValueId value = kNoValue;
  NodeId at = kNoNode;
};

struct LayoutPlan {
  std::vector<LayoutTensor> tensors;
  std::vector<PlanStep> steps;
  std::vector<PlanMove> moves;
  std::vector<std::optional<Layout>> layouts;  ///< By ValueId; none where the value has no static shape.
  std::vector<TensorId> outputs;               ///< By index in graph.outputs().
  PlanCost cost;
};

/// Whether transposing a tensor of this shape moves elements: axes of extent 1 may change places for nothing.
bool MovesElements(const Shape& shape, const Ints& perm);

/// The bytes of constants that the plan transposes into a second order and more. The first may take the place
/// of what it is made of.
int64_t BytesOfFurtherOrders(const LayoutPlan& plan);

/// Carries the plan out. Nodes that it rewrote are removed.
void ApplyLayoutPlan(Graph& graph, const LayoutPlan& plan);

}  // namespace skiff
