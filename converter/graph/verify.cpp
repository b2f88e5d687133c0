#include "graph/verify.h"

#include <algorithm>
#include <unordered_set>

#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/node_types.h"

namespace skiff {
namespace {

template <class... Args>
[[noreturn]] void Broken(const Graph& graph, const Node& node, fmt::format_string<Args...> format,
                         Args&&... args) {
  Throw(StatusCode::kInternal, "the graph '{}' is broken at {}: {}", graph.name, DescribeNode(graph, node),
        fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void Broken(const Graph& graph, fmt::format_string<Args...> format, Args&&... args) {
  Throw(StatusCode::kInternal, "the graph '{}' is broken: {}", graph.name,
        fmt::format(format, std::forward<Args>(args)...));
}

void CheckId(const Graph& graph, const Node& node, ValueId id) {
  if (id < 0 || id >= graph.value_count()) Broken(graph, node, "there is no value number {}", id);
}

void CheckArity(const Graph& graph, const Node& node, const OpDef& def) {
  const std::string defect = DefectOfArity(def, node.inputs.size(), node.outputs.size());
  if (!defect.empty()) Broken(graph, node, "{}", defect);
}

/// Inputs of nodes, each of which is one value's use.
uint64_t KeyOf(NodeId node, size_t input) {
  return static_cast<uint64_t>(node) << 32 | static_cast<uint32_t>(input);
}
using Uses = std::unordered_set<uint64_t>;

void CheckInputs(const Graph& graph, NodeId id, const OpDef& def, const Uses& listed) {
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) {
      if (!IsOptionalInput(def, i)) Broken(graph, node, "input {} is missing", i);
      continue;
    }
    CheckId(graph, node, node.inputs[i]);
    const Value& value = graph.value(node.inputs[i]);
    if (!listed.contains(KeyOf(id, i)))
      Broken(graph, node, "input {}, '{}', does not list this use exactly once", i, value.name);
    if (value.producer == kNoNode && !value.constant && !graph.IsGraphInput(node.inputs[i])) {
      Broken(graph, node, "nothing makes input {}, '{}'", i, value.name);
    }
  }
}

void CheckOutputs(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    CheckId(graph, node, node.outputs[i]);
    const Value& value = graph.value(node.outputs[i]);
    if (value.producer != id || value.output_index != static_cast<int>(i)) {
      Broken(graph, node, "output {}, '{}', names another producer", i, value.name);
    }
    if (value.constant || graph.IsGraphInput(node.outputs[i])) {
      Broken(graph, node, "output {}, '{}', is also a constant or a graph input", i, value.name);
    }
  }
}

/// On a copy, because rules that cannot tell an extent give it a Symbol of its own, which equals no other.
void CheckTypes(Graph& scratch, const Graph& graph, const Node& node) {
  if (!CanInfer(graph, node)) return;
  const std::vector<ValueType> types = InferTypes(scratch, node);
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& value = graph.value(node.outputs[i]);
    if (value.dtype == DType::kInvalid || !value.has_shape) continue;
    const bool same = value.dims.size() == types[i].dims.size() &&
                      std::equal(value.dims.begin(), value.dims.end(), types[i].dims.begin(), SameExtent);
    if (value.dtype != types[i].dtype || !same ||
        !SameQuantization(value.quantization, types[i].quantization)) {
      Broken(graph, node, "output {}, '{}', is {}{}{}, the shape rule says {}{}{}", i, value.name,
             DTypeName(value.dtype), DimsText(graph, value.dims), QuantizationText(value.quantization),
             DTypeName(types[i].dtype), DimsText(scratch, types[i].dims),
             QuantizationText(types[i].quantization));
    }
  }
}

/// The bodies themselves, and that their inputs have the types of the node's.
void CheckNodeBodies(const Graph& graph, const Node& node) {
  CheckBodies(graph, node);
  const auto names = BodyNames(node.op);
  for (size_t b = 0; b < names.size(); ++b) {
    const Graph& body = node.bodies[b];
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      const Value& inner = body.value(body.inputs()[i].value);
      const Value& outer = graph.value(node.inputs[i + FirstBodyInput(node.op)]);
      if (inner.dtype == DType::kInvalid || !inner.has_shape || !outer.has_shape) continue;
      const bool same = inner.dims.size() == outer.dims.size() &&
                        std::equal(inner.dims.begin(), inner.dims.end(), outer.dims.begin(), SameExtent);
      if (inner.dtype != outer.dtype || !same || !SameQuantization(inner.quantization, outer.quantization)) {
        Broken(graph, node, "input {} of its body '{}', '{}', is {}{}, the node passes it {}{}", i, names[b],
               inner.name, DTypeName(inner.dtype), DimsText(body, inner.dims), DTypeName(outer.dtype),
               DimsText(graph, outer.dims));
      }
    }
    Verify(body);
  }
}

/// Returns the uses that values list, each of which exists.
Uses CheckValues(const Graph& graph) {
  Uses listed;
  std::unordered_set<std::string> names;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!names.insert(value.name).second) Broken(graph, "two values have the name '{}'", value.name);
    for (const Use& use : value.uses) {
      const bool exists = use.node >= 0 && use.node < graph.node_count() && !graph.node(use.node).removed;
      if (!exists || use.input < 0 || use.input >= static_cast<int>(graph.node(use.node).inputs.size()) ||
          graph.node(use.node).inputs[static_cast<size_t>(use.input)] != id) {
        Broken(graph, "the value '{}' lists a use that does not exist (node {}, input {})", value.name,
               use.node, use.input);
      }
      if (!listed.insert(KeyOf(use.node, static_cast<size_t>(use.input))).second)
        Broken(graph, graph.node(use.node), "input {}, '{}', does not list this use exactly once", use.input,
               value.name);
    }
    if (value.quantization && value.has_shape) {
      const char* defect = DefectOfQuantization(value);
      if (defect != nullptr) Broken(graph, "the quantisation of '{}' is wrong: {}", value.name, defect);
    }
    if (value.constant && (value.dtype != value.constant->dtype() || !value.has_static_shape() ||
                           !SameQuantization(value.quantization, value.constant->quantization()) ||
                           !(value.shape() == value.constant->shape()))) {
      Broken(graph, "the constant '{}' has another type than its elements", value.name);
    }
  }
  return listed;
}

void CheckPorts(const Graph& graph) {
  for (const GraphPort& port : graph.outputs()) {
    if (port.value < 0 || port.value >= graph.value_count())
      Broken(graph, "the output '{}' has no value", port.name);
    const Value& value = graph.value(port.value);
    if (value.producer == kNoNode && !value.constant && !graph.IsGraphInput(port.value)) {
      Broken(graph, "nothing makes the output '{}'", port.name);
    }
  }
}

}  // namespace

std::string DefectOfArity(const OpDef& def, size_t inputs, size_t outputs) {
  if (inputs < def.min_inputs || (def.max_inputs != kVariadic && inputs > def.max_inputs))
    return fmt::format("it has {} inputs, the operator takes {} to {}", inputs, def.min_inputs,
                       def.max_inputs);
  if (def.outputs == kVariadic ? outputs == 0 : outputs != def.outputs)
    return fmt::format("it has {} outputs, the operator has {}", outputs, def.outputs);
  return "";
}

void Verify(const Graph& graph) {
  const Uses listed = CheckValues(graph);
  CheckPorts(graph);
  Graph scratch = graph;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.removed) continue;
    const OpDef* def = FindOp(node.op);
    if (def == nullptr) Broken(graph, "node '{}' has an unknown operator", node.name);
    CheckArity(graph, node, *def);
    CheckInputs(graph, id, *def, listed);
    CheckOutputs(graph, id);
    CheckNodeBodies(graph, node);
    CheckTypes(scratch, graph, node);
  }
  graph.TopologicalOrder();
}

}  // namespace skiff
