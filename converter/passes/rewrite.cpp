#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/half.h"
#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/evaluate.h"

namespace skiff {

NodeId ProducerWith(const Graph& graph, ValueId value, OpCode op) {
  if (value == kNoValue) return kNoNode;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || graph.node(producer).op != op) return kNoNode;
  return TouchesQuantized(graph, graph.node(producer)) ? kNoNode : producer;
}

ValueId InputOf(const Graph& graph, NodeId node, int index) {
  const std::vector<ValueId>& inputs = graph.node(node).inputs;
  return index < static_cast<int>(inputs.size()) ? inputs[static_cast<size_t>(index)] : kNoValue;
}

std::optional<double> ScalarConstant(const Graph& graph, ValueId value) {
  if (value == kNoValue || !graph.value(value).constant || graph.value(value).constant->elements() != 1)
    return {};
  return graph.value(value).constant->ToDoubles()[0];
}

std::optional<std::vector<int64_t>> IntConstant(const Graph& graph, ValueId value) {
  if (value == kNoValue || !graph.value(value).constant || IsFloat(graph.value(value).dtype)) return {};
  return graph.value(value).constant->ToInts();
}

TensorData RoundedTo(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  TensorData data(dtype, shape);
  const auto fill = [&](auto* elements) {
    using T = std::remove_pointer_t<decltype(elements)>;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if constexpr (std::is_same_v<T, Half>) {
        elements[i] = Half(static_cast<float>(numbers[i]));
      } else {
        elements[i] = static_cast<T>(numbers[i]);
      }
    }
  };
  switch (dtype) {
    case DType::kF32:
      fill(static_cast<float*>(data.mutable_data()));
      break;
    case DType::kF16:
      fill(static_cast<Half*>(data.mutable_data()));
      break;
    case DType::kF64:
      fill(static_cast<double*>(data.mutable_data()));
      break;
    default:
      Throw(StatusCode::kInternal, "numbers cannot be rounded to {}", DTypeName(dtype));
  }
  return data;
}

Dim ElementCount(const std::vector<Dim>& dims) {
  Dim count(1);
  for (const Dim& dim : dims) count = count * dim;
  return count;
}

std::optional<TensorData> ReshapeTarget(const std::vector<Dim>& from, const std::vector<Dim>& to,
                                        ReshapeAttrs* attrs) {
  std::vector<int64_t> target;
  int derived = 0;
  bool has_zero = false;
  bool copies = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].constant()) {
      has_zero = has_zero || to[i].value == 0;
      target.push_back(to[i].value);
    } else if (i < from.size() && from[i] == to[i]) {
      copies = true;
      target.push_back(0);
    } else {
      ++derived;
      target.push_back(-1);
    }
  }
  if (derived > 1 || (has_zero && (copies || derived > 0))) return {};
  // A -1 takes any number of elements: it would hide that they are too many at some size.
  if (derived > 0 && !(ElementCount(from) == ElementCount(to))) return {};
  attrs->allow_zero = has_zero;
  return TensorData::OfInts(target);
}

bool TouchesQuantized(const Graph& graph, const Node& node) {
  const auto quantized = [&](ValueId id) { return id != kNoValue && graph.value(id).quantization; };
  return std::any_of(node.inputs.begin(), node.inputs.end(), quantized) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), quantized);
}

bool SameType(const Graph& graph, ValueId a, ValueId b) {
  const Value& left = graph.value(a);
  const Value& right = graph.value(b);
  return left.dtype == right.dtype && left.has_shape && right.has_shape && left.dims == right.dims &&
         SameQuantization(left.quantization, right.quantization);
}

std::string DescribeUses(const Graph& graph, ValueId id) {
  const size_t uses = graph.value(id).uses.size();
  if (!graph.IsGraphOutput(id)) return fmt::format("is used {} times", uses);
  return uses == 0 ? "is an output of the graph" : "is also an output of the graph";
}

std::optional<std::vector<TensorData>> EvaluateIfSupported(const Graph& graph, const Node& node,
                                                           const std::vector<const TensorData*>& inputs) {
  try {
    return EvaluateNode(graph, node, inputs);
  } catch (const Error& error) {
    if (error.code() != StatusCode::kUnsupported) throw;
    return {};
  }
}

void RemoveIfUnused(Graph& graph, NodeId id, NodeId heir) {
  const auto is_unused = [&](NodeId node) {
    if (node == kNoNode || graph.node(node).removed || HasEffect(graph.node(node))) return false;
    const std::vector<ValueId>& outputs = graph.node(node).outputs;
    return std::none_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return !graph.value(output).uses.empty() || graph.IsGraphOutput(output);
    });
  };
  // Not by recursion: chains may be as long as the net.
  std::vector<NodeId> candidates = {id};
  while (!candidates.empty()) {
    const NodeId node = candidates.back();
    candidates.pop_back();
    if (!is_unused(node)) continue;
    for (size_t i = graph.node(node).inputs.size(); i-- > 0;)
      candidates.push_back(graph.ProducerOf(node, static_cast<int>(i)));
    if (heir != kNoNode) graph.MergeSources(heir, node);
    graph.RemoveNode(node);
  }
}

void SetInputs(Graph& graph, NodeId id, const std::vector<ValueId>& inputs) {
  const std::vector<ValueId> before = graph.node(id).inputs;
  graph.DropInputs(id);
  graph.node(id).inputs.clear();
  for (size_t i = 0; i < inputs.size(); ++i) graph.SetInput(id, static_cast<int>(i), inputs[i]);
  for (ValueId input : before) {
    if (input != kNoValue) RemoveIfUnused(graph, graph.value(input).producer, id);
  }
}

bool Bypass(Graph& graph, NodeId id, ValueId to, const std::string& note) {
  const ValueId from = graph.node(id).outputs[0];
  const bool computed = graph.value(to).producer != kNoNode;
  if (graph.IsGraphOutput(from) && !computed) return false;
  graph.Note(id, note);
  if (computed && graph.value(to).source.empty()) {
    graph.value(to).source = graph.value(from).source;
    graph.value(to).source_perm = graph.value(from).source_perm;
  }
  graph.ReplaceUses(from, to);
  RemoveIfUnused(graph, id);
  return true;
}

void TakeOver(Graph& graph, NodeId id, NodeId user) {
  const ValueId output = graph.node(user).outputs[0];
  const ValueId old_output = graph.node(id).outputs[0];
  graph.MergeSources(id, user);
  const std::vector<ValueId> inputs = graph.node(user).inputs;
  graph.RemoveNode(user);
  graph.value(old_output).producer = kNoNode;
  graph.node(id).outputs[0] = output;
  graph.value(output).producer = id;
  graph.value(output).output_index = 0;
  for (ValueId input : inputs) {
    if (input != kNoValue && input != old_output) RemoveIfUnused(graph, graph.value(input).producer);
  }
}

}  // namespace skiff
