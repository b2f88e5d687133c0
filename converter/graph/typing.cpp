#include "graph/typing.h"

#include <fmt/format.h>

#include "core/extents.h"
#include "graph/known_values.h"
#include "graph/symbolic_rules.h"

namespace skiff {
namespace {

/// Elements that arithmetic on expressions could not tell (that of floats, which exporters write for Resize)
/// may still be numbers.
void FindElements(Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.constant || value.elements || value.quantization || IsFloat(value.dtype)) return;
  const std::optional<TensorData> numbers = FindKnownValue(graph, id, kMaxShapeElements);
  if (!numbers) return GiveElements(graph, id);
  const std::vector<int64_t> integers = numbers->ToInts();
  graph.value(id).elements = std::make_shared<std::vector<Dim>>(integers.begin(), integers.end());
}

void Forget(Value& value) {
  // A declared quantisation stays, and the dtype is part of it.
  if (!value.quantization) value.dtype = DType::kInvalid;
  value.has_shape = false;
  value.dims.clear();
  value.elements = nullptr;
}

}  // namespace

void SetTypes(Graph& graph, NodeId id, std::vector<ValueType> types) {
  for (size_t i = 0; i < types.size(); ++i) {
    Value& value = graph.value(graph.node(id).outputs[i]);
    value.dtype = types[i].dtype;
    value.has_shape = true;
    value.dims = std::move(types[i].dims);
    value.quantization = std::move(types[i].quantization);
    value.elements = std::move(types[i].elements);
  }
}

std::optional<Refusal> TypeAddedNode(Graph& graph, NodeId id) {
  const OpDef& def = *FindOp(graph.node(id).op);
  const std::vector<ValueId> inputs = graph.node(id).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue) continue;
    const Value& value = graph.value(inputs[i]);
    if (value.dtype == DType::kInvalid || !value.has_shape)
      return Refusal{fmt::format("the type of '{}' is not known", value.name), false};
    if (def.NeedsValues(i)) FindElements(graph, inputs[i]);
  }
  Refusal refusal;
  std::optional<std::vector<ValueType>> types = TryInferTypes(graph, graph.node(id), &refusal);
  if (!types) return refusal;
  SetTypes(graph, id, *std::move(types));
  return {};
}

void GiveElements(Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.elements || value.quantization || IsFloat(value.dtype) || !value.has_static_shape()) return;
  if (WhyNoTensor(value.dtype, value.shape()) != nullptr) return;  // It will be refused.
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

void ForgetTypes(Graph& graph, size_t symbols) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    Value& value = graph.value(id);
    if (value.constant) continue;
    value.elements = nullptr;
    if (value.producer != kNoNode) Forget(value);
  }
  graph.symbols().resize(symbols);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    for (Graph& body : graph.node(id).bodies) {
      ForgetTypes(body, symbols);
      for (const GraphPort& port : body.inputs()) Forget(body.value(port.value));
    }
  }
}

}  // namespace skiff
