// Types of all values, by the operators' shape rules in topological order.
#include <algorithm>
#include <unordered_map>

#include "graph/node_types.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Shape arithmetic works on a few numbers; what is larger is data, and left to FoldConstants.
constexpr int64_t kMaxShapeElements = 64;

void SetTypes(Graph& graph, const Node& node, const std::vector<TensorView>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    Value& value = graph.value(node.outputs[i]);
    value.dtype = types[i].dtype;
    value.has_shape = true;
    value.dims.assign(types[i].shape.begin(), types[i].shape.end());
  }
}

bool HasTypes(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return graph.value(id).dtype != DType::kInvalid && graph.value(id).has_static_shape();
  });
}

/// Small tensors whose elements follow from constants and shapes.
class ShapeArithmetic {
 public:
  explicit ShapeArithmetic(const Graph& graph) : graph_(graph) {}

  const TensorData* Find(ValueId id) const {
    if (graph_.value(id).constant) return &*graph_.value(id).constant;
    const auto found = computed_.find(id);
    return found == computed_.end() ? nullptr : &found->second;
  }

  /// Computes the results of a typed node where that is possible and they are small.
  void Learn(const Node& node) {
    if (node.op == OpCode::kShape) {
      computed_[node.outputs[0]] = StaticShape(graph_, node);
      return;
    }
    std::vector<const TensorData*> arguments;
    for (ValueId id : node.inputs) {
      arguments.push_back(id == kNoValue ? nullptr : Find(id));
      if (id != kNoValue && (arguments.back() == nullptr || arguments.back()->elements() > kMaxShapeElements))
        return;
    }
    for (ValueId id : node.outputs) {
      if (graph_.value(id).shape().elements() > kMaxShapeElements) return;
    }
    auto results = EvaluateIfSupported(node, arguments);
    if (!results) return;
    for (size_t i = 0; i < results->size(); ++i) computed_[node.outputs[i]] = std::move((*results)[i]);
  }

 private:
  const Graph& graph_;
  std::unordered_map<ValueId, TensorData> computed_;
};

/// Shape inputs whose elements are known become constants, so that the node can be typed alone from now on.
void PinShapeInputs(Graph& graph, NodeId id, const ShapeArithmetic& arithmetic) {
  const OpDef* def = FindOp(graph.node(id).op);
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const ValueId input = graph.node(id).inputs[i];
    if (input == kNoValue || graph.value(input).constant || !def->NeedsValues(i)) continue;
    if (const TensorData* data = arithmetic.Find(input)) {
      graph.SetInput(id, static_cast<int>(i), graph.AddConstant(graph.value(input).name + ".value", *data));
    }
  }
}

}  // namespace

void InferNode(Graph& graph, NodeId id) {
  SetTypes(graph, graph.node(id), InferTypes(graph, graph.node(id)));
}

void InferShapes(Graph& graph) {
  ShapeArithmetic arithmetic(graph);
  for (NodeId id : graph.TopologicalOrder()) {
    PinShapeInputs(graph, id, arithmetic);
    if (!HasTypes(graph, graph.node(id))) InferNode(graph, id);
    arithmetic.Learn(graph.node(id));
  }
}

}  // namespace skiff
