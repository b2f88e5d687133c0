// Operators over quantised integers of 16 bits become operators over floats between Dequantize and Quantize.
// A float holds each of these integers and then some, so that the result is the same but for a unit where it
// is next to half way; and kernels for floats are everywhere, those for 16 bits nowhere.
#include <algorithm>

#include "graph/node_types.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

bool IsWord(const Graph& graph, ValueId value) {
  return value != kNoValue && graph.value(value).quantization && !graph.value(value).constant &&
         DTypeBits(graph.value(value).dtype) == 16;
}

/// Where these jump, a float beside the jump is on the other side.
constexpr OpCode kJumps[] = {
    OpCode::kFloor,       OpCode::kCeil,    OpCode::kRound,          OpCode::kSign,
    OpCode::kPow,         OpCode::kMod,     OpCode::kEqual,          OpCode::kLess,
    OpCode::kLessOrEqual, OpCode::kGreater, OpCode::kGreaterOrEqual, OpCode::kArgMax,
    OpCode::kArgMin,      OpCode::kTopK,
};

bool IsUnfolded(const Graph& graph, const Node& node) {
  const QuantizedUse use = QuantizedUseOf(node.op);
  const bool computes =
      use == QuantizedUse::kProducts || use == QuantizedUse::kLinear || use == QuantizedUse::kReal;
  const bool converts = node.op == OpCode::kQuantize || node.op == OpCode::kDequantize;
  const bool jumps = std::find(std::begin(kJumps), std::end(kJumps), node.op) != std::end(kJumps);
  if (!computes || converts || jumps || node.outputs.size() != 1) return false;
  // Sums of 32 bits are exact, and more than a float holds.
  const Value& result = graph.value(node.outputs[0]);
  if (use == QuantizedUse::kProducts && result.quantization && result.dtype == DType::kI32) return false;
  const auto word = [&](ValueId value) { return IsWord(graph, value); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), word) || word(node.outputs[0]);
}

/// The node's operator over floats, as another node.
ValueId EmitAmongFloats(Graph& graph, NodeId id) {
  std::vector<ValueId> inputs = graph.node(id).inputs;
  for (ValueId& input : inputs) {
    if (input == kNoValue || !graph.value(input).quantization) continue;
    input = EmitTyped(graph, OpCode::kDequantize, {input}, NoAttrs(), graph.value(input).name + ".real", id);
  }
  // Between two scales nothing is computed.
  if (graph.node(id).op == OpCode::kRequantize) return inputs[0];
  const NodeId made =
      graph.AddNode(graph.node(id).op, inputs, {graph.value(graph.node(id).outputs[0]).name + ".real"});
  graph.node(made).attrs = graph.node(id).attrs;
  graph.node(made).sources = graph.node(id).sources;
  graph.node(made).position = graph.node(id).position;
  InferNode(graph, made);
  return graph.node(made).outputs[0];
}

}  // namespace

void UnfoldWords(Graph& graph) {
  ForEachNode(graph, [&](NodeId id) {
    if (!IsUnfolded(graph, graph.node(id))) return;
    const ValueId numbers = EmitAmongFloats(graph, id);
    graph.Note(id, "computes on floats: its integers have 16 bits");
    const ValueId result = graph.node(id).outputs[0];
    if (graph.value(result).quantization) return Become(graph, id, OpCode::kQuantize, {numbers});
    Become(graph, id, OpCode::kIdentity, {numbers});
  });
}

}  // namespace skiff
