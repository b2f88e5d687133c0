// Carries a layout plan out: emits its steps, moves outputs and source names over, removes what was
// rewritten.
#include <algorithm>
#include <cstring>
#include <set>

#include "graph/error.h"
#include "ops/op_codes.h"
#include "passes/layout/plan.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

TensorData TransposedData(const TensorData& data, const Ints& perm) {
  const int rank = data.shape().rank();
  Shape shape;
  int64_t strides[kMaxRank] = {};
  for (int axis = 0; axis < rank; ++axis) {
    const int from = static_cast<int>(perm[axis]);
    shape.Append(data.shape()[from]);
    strides[axis] = data.shape().ElementsBetween(from + 1, rank);
  }
  TensorData result(data.dtype(), shape);
  const size_t size = static_cast<size_t>(DTypeSize(data.dtype()));
  const auto* from = static_cast<const std::byte*>(data.data());
  auto* to = static_cast<std::byte*>(result.mutable_data());
  int64_t index[kMaxRank] = {};
  int64_t offset = 0;
  for (int64_t i = 0; i < result.elements(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(offset) * size, size);
    for (int axis = rank - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result.Quantized(data.quantization());
}

class Applier {
 public:
  Applier(Graph& graph, const LayoutPlan& plan)
      : graph_(graph),
        plan_(plan),
        values_before_(graph.value_count()),
        emitted_(plan.tensors.size(), kNoValue) {
    for (ValueId id = 0; id < values_before_; ++id) emitted_[static_cast<size_t>(id)] = id;
  }

  void Run() {
    for (const PlanStep& step : plan_.steps) {
      if (step.in_place) {
        KeepNode(step);
      } else if (tensor(step.outputs[0]).constant) {
        EmitConstant(step);
      } else {
        EmitNode(step);
      }
    }
    MoveSources();
    MoveOutputs();
  }

 private:
  const LayoutTensor& tensor(TensorId id) const { return plan_.tensors[static_cast<size_t>(id)]; }

  std::string NameOf(const LayoutTensor& tensor) const {
    return tensor.named_after == kNoValue ? std::string() : graph_.value(tensor.named_after).name;
  }

  ValueId Emitted(TensorId id) {
    if (id == kNoValue) return kNoValue;
    ValueId& value = emitted_[static_cast<size_t>(id)];
    if (value == kNoValue) value = graph_.AddConstant({}, *tensor(id).data);
    return value;
  }

  void KeepNode(const PlanStep& step) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const ValueId input = Emitted(step.inputs[i]);
      if (graph_.node(step.like).inputs[i] != input) graph_.SetInput(step.like, static_cast<int>(i), input);
    }
  }

  void EmitConstant(const PlanStep& step) {
    const TensorData data = *graph_.value(Emitted(step.inputs[0])).constant;
    const LayoutTensor& result = tensor(step.outputs[0]);
    emitted_[static_cast<size_t>(step.outputs[0])] =
        graph_.AddConstant(NameOf(result), step.op == OpCode::kReshape
                                               ? data.Reshaped(result.shape)
                                               : TransposedData(data, step.attrs.as<TransposeAttrs>().perm));
  }

  void EmitNode(const PlanStep& step) {
    std::vector<ValueId> inputs;
    for (TensorId input : step.inputs) inputs.push_back(Emitted(input));
    const bool is_move = step.op == OpCode::kReshape || step.op == OpCode::kTranspose;
    if (step.op == OpCode::kReshape) {
      const Shape& shape = tensor(step.outputs[0]).shape;
      inputs.push_back(graph_.AddConstant({}, TensorData::OfInts({shape.begin(), shape.end()})));
    }
    std::vector<std::string> names;
    for (TensorId output : step.outputs) names.push_back(NameOf(tensor(output)));
    const NodeId id = graph_.AddNode(step.op, std::move(inputs), names);
    graph_.node(id).attrs = step.attrs;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const ValueId output = graph_.node(id).outputs[i];
      Value& value = graph_.value(output);
      value.dtype = tensor(step.outputs[i]).dtype;
      value.quantization = tensor(step.outputs[i]).quantization;
      value.has_shape = true;
      value.dims.assign(tensor(step.outputs[i]).shape.begin(), tensor(step.outputs[i]).shape.end());
      emitted_[static_cast<size_t>(step.outputs[i])] = output;
    }
    for (NodeId carried : step.carries) graph_.MergeSources(id, carried);
    if (step.like != kNoNode) {
      graph_.node(id).position = graph_.node(step.like).position;
      if (!is_move || step.carries.empty()) graph_.MergeSources(id, step.like);
      if (!is_move) graph_.node(id).name = graph_.node(step.like).name;
    }
    if (step.op == OpCode::kTranspose) ExplainTranspose(id, step);
  }

  void ExplainTranspose(NodeId id, const PlanStep& step) {
    const Value& moved = graph_.value(graph_.node(id).outputs[0]);
    const std::string reason =
        step.like == kNoNode
            ? std::string("the graph's output is in this order")
            : fmt::format("{} '{}' cannot take its input in another order",
                          FindOp(graph_.node(step.like).op)->name, graph_.node(step.like).name);
    // Extents of open dimensions are stand-ins here.
    const std::string to =
        graph_.nominal_sizes ? "" : fmt::format(" to {}", ShapeText(moved.shape()).c_str());
    graph_.Note(id, fmt::format("a Transpose{} runs: {}", to, reason));
  }

  /// Names of source tensors go to the tensors that hold their elements now, permuted or not.
  void MoveSources() {
    for (ValueId id = 0; id < values_before_; ++id) {
      const std::optional<Layout>& layout = plan_.layouts[static_cast<size_t>(id)];
      if (!layout || graph_.value(id).source.empty()) continue;
      const ValueId holder = emitted_[static_cast<size_t>(layout->tensor)];
      if (holder == id || !graph_.value(holder).source.empty() || graph_.value(holder).constant) continue;
      const std::optional<Ints> perm = PermutationOf(*layout);
      if (!perm) continue;
      const Ints before = graph_.value(id).source_perm;
      Ints composed;
      bool identity = true;
      for (int64_t axis : *perm) {
        const int64_t source_axis = before.size == 0 ? axis : before[axis];
        identity &= source_axis == composed.size;
        composed[composed.size++] = source_axis;
      }
      graph_.value(holder).source = graph_.value(id).source;
      graph_.value(holder).source_perm = identity ? Ints() : composed;
    }
  }

  /// The permutation of the value's axes that the tensor is, if it is one.
  std::optional<Ints> PermutationOf(const Layout& layout) const {
    const Shape& shape = tensor(layout.tensor).shape;
    const int rank = layout.view.rank();
    if (shape.rank() != rank) return {};
    const std::vector<std::vector<int>> groups = layout.view.TensorAxes(shape);
    std::vector<int> axis_of(static_cast<size_t>(rank), -1);
    std::vector<bool> taken(static_cast<size_t>(rank), false);
    // Axes with a place first; then axes of extent 1 take what is left in order.
    for (const bool any_unit : {false, true}) {
      for (size_t i = 0; i < groups.size(); ++i) {
        for (int axis = 0; axis < rank && axis_of[i] < 0; ++axis) {
          const bool fits = any_unit ? shape[static_cast<int>(i)] == 1 && layout.view.AxisExtent(axis) == 1
                                     : layout.view.axes[static_cast<size_t>(axis)] == groups[i];
          if (!fits || taken[static_cast<size_t>(axis)]) continue;
          axis_of[i] = axis;
          taken[static_cast<size_t>(axis)] = true;
        }
      }
    }
    Ints perm;
    for (int axis : axis_of) {
      if (axis < 0) return {};
      perm[perm.size++] = axis;
    }
    return perm;
  }

  void MoveOutputs() {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const GraphPort port = graph_.outputs()[i];
      ValueId value = Emitted(plan_.outputs[i]);
      if (value == port.value) continue;
      if (graph_.value(value).producer == kNoNode) {
        // A graph output is never an input or a constant itself.
        const NodeId maker = graph_.value(port.value).producer;
        value =
            EmitTyped(graph_, OpCode::kIdentity, {value}, NoAttrs(), graph_.value(port.value).name, maker);
      }
      graph_.ReplaceUses(port.value, value);
    }
  }

  Graph& graph_;
  const LayoutPlan& plan_;
  const ValueId values_before_;
  std::vector<ValueId> emitted_;
};

/// Importers write transposes on behalf of other operators; only those of the source file are worth a word.
void ExplainCancelled(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto is_transpose = [&](SourceId source) {
    return graph.sources()[static_cast<size_t>(source)].op == "Transpose";
  };
  if (node.op != OpCode::kTranspose || !std::any_of(node.sources.begin(), node.sources.end(), is_transpose))
    return;
  graph.Note(id, "cancelled: whatever uses it works on the elements as they lie");
}

}  // namespace

int64_t BytesOfFurtherOrders(const LayoutPlan& plan) {
  std::set<TensorId> transposed;
  int64_t bytes = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.in_place || step.op != OpCode::kTranspose) continue;
    const LayoutTensor& result = plan.tensors[static_cast<size_t>(step.outputs[0])];
    if (!result.constant) continue;
    TensorId from = step.inputs[0];
    while (plan.tensors[static_cast<size_t>(from)].step >= 0) {
      from = plan.steps[static_cast<size_t>(plan.tensors[static_cast<size_t>(from)].step)].inputs[0];
    }
    if (!transposed.insert(from).second) bytes += result.shape.elements() * DTypeSize(result.dtype);
  }
  return bytes;
}

void ApplyLayoutPlan(Graph& graph, const LayoutPlan& plan) {
  const std::vector<NodeId> order = graph.TopologicalOrder();
  Applier(graph, plan).Run();
  std::set<NodeId> carried_out;
  for (const PlanStep& step : plan.steps) carried_out.insert(step.carries.begin(), step.carries.end());
  for (auto id = order.rbegin(); id != order.rend(); ++id) RemoveIfUnused(graph, *id);
  for (NodeId id : order) {
    if (graph.node(id).removed && !carried_out.contains(id)) ExplainCancelled(graph, id);
  }
}

}  // namespace skiff
