// Types of all values, by the operators' shape rules in topological order.
#include <algorithm>
#include <unordered_map>

#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "graph/shape_program.h"
#include "graph/symbolic_rules.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

void SetTypes(Graph& graph, NodeId id, std::vector<ValueType> types) {
  for (size_t i = 0; i < types.size(); ++i) {
    Value& value = graph.value(graph.node(id).outputs[i]);
    value.dtype = types[i].dtype;
    value.has_shape = true;
    value.dims = std::move(types[i].dims);
    value.elements = std::move(types[i].elements);
  }
}

bool HasTypes(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return graph.value(id).dtype != DType::kInvalid && graph.value(id).has_static_shape();
  });
}

bool AllConstant(const std::vector<Dim>& elements) {
  return std::all_of(elements.begin(), elements.end(), [](const Dim& dim) { return dim.constant(); });
}

template <class T>
TensorData Narrowed(const Value& value) {
  TensorData data(value.dtype, value.shape());
  std::transform(value.elements->begin(), value.elements->end(), static_cast<T*>(data.mutable_data()),
                 [](const Dim& element) { return static_cast<T>(element.value); });
  return data;
}

/// A value whose elements are all numbers, as a constant; of the dtypes that shape arithmetic uses.
std::optional<TensorData> ConstantOf(const Value& value) {
  if (value.shape().elements() != static_cast<int64_t>(value.elements->size())) return {};
  if (value.dtype == DType::kI64) return Narrowed<int64_t>(value);
  if (value.dtype == DType::kI32) return Narrowed<int32_t>(value);
  if (value.dtype == DType::kBool) return Narrowed<uint8_t>(value);
  return {};
}

/// The elements of a small value whose inputs are all known, where expressions could not tell them
/// (floating-point arithmetic on extents, as exporters write it for Resize).
class FloatArithmetic {
 public:
  explicit FloatArithmetic(const Graph& graph) : graph_(graph) {}

  const TensorData* Find(ValueId id) {
    if (graph_.value(id).constant) return &*graph_.value(id).constant;
    if (const auto found = computed_.find(id); found != computed_.end()) return &found->second;
    const Value& value = graph_.value(id);
    if (!value.elements || !AllConstant(*value.elements) || !value.has_static_shape()) return nullptr;
    std::optional<TensorData> numbers = ConstantOf(value);
    return numbers ? &(computed_[id] = *std::move(numbers)) : nullptr;
  }

  void Learn(const Node& node) {
    if (HasEffect(node) || !node.bodies.empty()) return;
    std::vector<const TensorData*> arguments;
    for (ValueId id : node.inputs) {
      arguments.push_back(id == kNoValue ? nullptr : Find(id));
      if (id != kNoValue && (arguments.back() == nullptr || arguments.back()->elements() > kMaxShapeElements))
        return;
    }
    for (ValueId id : node.outputs) {
      if (!graph_.value(id).has_static_shape() || graph_.value(id).shape().elements() > kMaxShapeElements)
        return;
    }
    auto results = EvaluateIfSupported(node, arguments);
    if (!results) return;
    for (size_t i = 0; i < results->size(); ++i) computed_[node.outputs[i]] = std::move((*results)[i]);
  }

 private:
  const Graph& graph_;
  std::unordered_map<ValueId, TensorData> computed_;
};

/// Numbers that decide a shape and are known only on the device: Symbols of any value, until then.
void GiveElements(Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.elements || IsFloat(value.dtype) || !value.has_static_shape()) return;
  const int64_t count = value.shape().elements();
  if (count > kMaxShapeElements) return;
  auto elements = std::make_shared<std::vector<Dim>>();
  for (int64_t i = 0; i < count; ++i) {
    const SymbolId symbol = graph.AddFreshSymbol(fmt::format("{}[{}]", graph.value(id).name, i));
    graph.symbols()[static_cast<size_t>(symbol)].min = INT64_MIN;
    elements->push_back(Dim::OfSymbol(symbol, graph.symbols()[static_cast<size_t>(symbol)]));
  }
  graph.value(id).elements = std::move(elements);
}

/// Shape inputs whose elements are numbers become constants, so that the node can be typed alone from now on.
void PinShapeInputs(Graph& graph, NodeId id, FloatArithmetic& arithmetic) {
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const ValueId input = graph.node(id).inputs[i];
    if (input == kNoValue || graph.value(input).constant || !NeedsValues(graph.node(id), i)) continue;
    if (const TensorData* data = arithmetic.Find(input)) {
      graph.SetInput(id, static_cast<int>(i), graph.AddConstant(graph.value(input).name + ".value", *data));
    } else {
      GiveElements(graph, input);
    }
  }
}

/// Forgets all types, which come from the inputs again.
void ForgetTypes(Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    Value& value = graph.value(id);
    if (value.constant) continue;
    value.dtype = DType::kInvalid;
    value.has_shape = false;
    value.dims.clear();
    value.elements = nullptr;
  }
}

/// Types the bodies anew from the node's inputs. They share the graph's Symbols, which may become more; the
/// elements of a loop variable are others in each iteration.
void InferBodies(Graph& graph, NodeId id) {
  CheckBodies(graph, graph.node(id));
  const size_t variables = LoopVariables(graph.node(id));
  for (size_t b = 0; b < graph.node(id).bodies.size(); ++b) {
    Graph body = std::move(graph.node(id).bodies[b]);
    ForgetTypes(body);
    body.symbols() = graph.symbols();
    body.nominal_sizes = graph.nominal_sizes;
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      const ValueId from = graph.node(id).inputs[i + FirstBodyInput(graph.node(id).op)];
      Value& to = body.value(body.inputs()[i].value);
      to.dtype = graph.value(from).dtype;
      to.has_shape = graph.value(from).has_shape;
      to.dims = graph.value(from).dims;
      if (i >= variables) to.elements = KnownElements(graph, from);
    }
    InferShapes(body);
    graph.symbols() = body.symbols();
    graph.node(id).bodies[b] = std::move(body);
  }
  for (size_t i = 0; i < variables; ++i) {
    if (!NeedsValues(graph.node(id), i)) continue;
    Throw(StatusCode::kUnsupported,
          "{}: the elements of loop variable {} '{}' decide a shape inside of the loop, which would differ "
          "from one "
          "iteration to the next; take parts with Gather instead of Slice, and write them with ScatterND",
          DescribeNode(graph, graph.node(id)), i, graph.value(graph.node(id).inputs[i]).name);
  }
}

}  // namespace

void InferNode(Graph& graph, NodeId id) {
  if (FindOp(graph.node(id).op)->Is(kBodies)) InferBodies(graph, id);
  SetTypes(graph, id, InferTypes(graph, graph.node(id)));
}

namespace {

/// A branch that is never taken may even be of other types.
const TensorData* KnownCondition(const Node& node, FloatArithmetic& arithmetic) {
  const TensorData* condition = node.op == OpCode::kIf ? arithmetic.Find(node.inputs[0]) : nullptr;
  return condition != nullptr && condition->dtype() == DType::kBool && condition->elements() == 1 ? condition
                                                                                                  : nullptr;
}

void InferInOrder(Graph& graph, NodeId id, FloatArithmetic& arithmetic) {
  if (graph.node(id).removed) return;
  if (const TensorData* condition = KnownCondition(graph.node(id), arithmetic)) {
    for (NodeId inlined : InlineBranch(graph, id, *condition->as<uint8_t>() != 0))
      InferInOrder(graph, inlined, arithmetic);
    return;
  }
  PinShapeInputs(graph, id, arithmetic);
  if (!graph.node(id).bodies.empty() || !HasTypes(graph, graph.node(id))) InferNode(graph, id);
  arithmetic.Learn(graph.node(id));
}

}  // namespace

void InferShapes(Graph& graph) {
  FloatArithmetic arithmetic(graph);
  for (NodeId id : graph.TopologicalOrder()) InferInOrder(graph, id, arithmetic);
}

}  // namespace skiff
