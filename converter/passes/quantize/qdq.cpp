#include "passes/quantize/qdq.h"

#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/rewrite.h"

namespace skiff {

CodeType CodeTypeOf(const Graph& graph, ValueId value) {
  return {graph.value(value).dtype, graph.value(value).quantization};
}

ValueId DequantizedFrom(const Graph& graph, ValueId value) {
  if (value == kNoValue) return kNoValue;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || graph.node(producer).op != OpCode::kDequantize) return kNoValue;
  return graph.node(producer).inputs[0];
}

ValueId TakeCodes(Graph& graph, ValueId value) {
  const ValueId codes = DequantizedFrom(graph, value);
  if (codes != kNoValue && graph.value(codes).source.empty() && !graph.value(codes).constant) {
    graph.value(codes).source = graph.value(value).source;
    graph.value(codes).source_perm = graph.value(value).source_perm;
  }
  return codes;
}

std::vector<size_t> PickedInputs(const Graph& graph, const Node& node) {
  const bool nearest = node.op == OpCode::kResize2d && node.As<ResizeAttrs>().mode == ResizeMode::kNearest &&
                       node.As<ResizeAttrs>().coordinates != ResizeCoordinates::kTfCropAndResize;
  const bool picks =
      QuantizedUseOf(node.op) == QuantizedUse::kMoves || node.op == OpCode::kMaxPool2d || nearest;
  std::vector<size_t> picked;
  for (size_t i = 0; picks && i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue || !IsMoved(node.op, i)) continue;
    if (graph.value(node.inputs[i]).dtype != DType::kF32) return {};
    picked.push_back(i);
  }
  return picked;
}

std::optional<CodeType> QuantizedTo(const Graph& graph, const Node& node) {
  std::optional<CodeType> common;
  for (const ValueId output : node.outputs) {
    if (graph.IsGraphOutput(output)) return {};
    for (const Use& use : graph.value(output).uses) {
      const Node& user = graph.node(use.node);
      if (user.op != OpCode::kQuantize) return {};
      const CodeType type = CodeTypeOf(graph, user.outputs[0]);
      if (!type.quantization->per_tensor() || (common && !(*common == type))) return {};
      common = type;
    }
  }
  return common;
}

ValueId EmitCodes(Graph& graph, OpCode op, ValueId input, const CodeType& type, const std::string& name,
                  NodeId like) {
  const ValueId result = graph.Emit(op, {input}, NoAttrs(), name, like);
  graph.value(result).dtype = type.dtype;
  graph.value(result).quantization = type.quantization;
  InferNode(graph, graph.value(result).producer);
  return result;
}

void TakeOverQuantize(Graph& graph, NodeId id, const CodeType& type) {
  for (size_t i = 0; i < graph.node(id).outputs.size(); ++i) {
    const ValueId real = graph.node(id).outputs[i];
    graph.value(real).dtype = type.dtype;
    graph.value(real).quantization = type.quantization;
    // Its elements are integers now; the name of the numbers goes on where they are rounded.
    graph.value(real).source.clear();
    const std::vector<Use> quantizes = graph.value(real).uses;
    for (const Use& use : quantizes) {
      const NodeId quantize = use.node;
      const ValueId codes = graph.node(quantize).outputs[0];
      graph.value(real).source = graph.value(codes).source;
      graph.value(real).source_perm = graph.value(codes).source_perm;
      graph.ReplaceUses(codes, real);
      graph.MergeSources(id, quantize);
      graph.RemoveNode(quantize);
    }
  }
}

}  // namespace skiff
