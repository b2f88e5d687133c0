// One spelling for quantised nets: every operator reads and makes floats, and a value is quantised where it
// is rounded and nowhere else.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int kMaxSimplifySweeps = 100;

/// Whether each element is a number that this type has.
bool IsOnGrid(const Graph& graph, ValueId value, const CodeType& type, int& visits) {
  if (const ValueId codes = DequantizedFrom(graph, value); codes != kNoValue)
    return CodeTypeOf(graph, codes) == type;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || ++visits > kMostVisits) return false;
  const Node& node = graph.node(producer);
  // Every type has a zero.
  if (node.op == OpCode::kClamp && node.As<ClampAttrs>().min == 0 && node.As<ClampAttrs>().max == kInfinity)
    return IsOnGrid(graph, node.inputs[0], type, visits);
  const std::vector<size_t> picked = PickedInputs(graph, node);
  return !picked.empty() && std::all_of(picked.begin(), picked.end(), [&](size_t i) {
    return IsOnGrid(graph, node.inputs[i], type, visits);
  });
}

/// Quantize behind what has such numbers already, and Dequantize behind that.
bool SimplifyDequantize(Graph& graph, NodeId id) {
  const ValueId codes = graph.node(id).inputs[0];
  const NodeId quantize = graph.value(codes).producer;
  if (quantize == kNoNode || graph.node(quantize).op != OpCode::kQuantize) return false;
  const ValueId numbers = graph.node(quantize).inputs[0];
  const CodeType type = CodeTypeOf(graph, codes);
  if (!type.quantization->per_tensor() || !SameType(graph, numbers, graph.node(id).outputs[0])) return false;
  int visits = 0;
  return IsOnGrid(graph, numbers, type, visits) &&
         Bypass(graph, id, numbers, "removed: its numbers were rounded so before, and only moved since");
}

bool SimplifyQuantize(Graph& graph, NodeId id) {
  const ValueId codes = DequantizedFrom(graph, graph.node(id).inputs[0]);
  if (codes == kNoValue) return false;
  if (SameType(graph, codes, graph.node(id).outputs[0]))
    return Bypass(graph, id, codes, "removed: it rounds to what it was");
  // Delegates have no Requantize of 16 bits.
  if (DTypeBits(graph.value(codes).dtype) == 16 ||
      DTypeBits(graph.value(graph.node(id).outputs[0]).dtype) == 16)
    return false;
  Become(graph, id, OpCode::kRequantize, {codes});
  return true;
}

bool SimplifyFromCodes(Graph& graph, NodeId id) {
  const NodeId producer = graph.ProducerOf(id, 0);
  if (producer == kNoNode || graph.node(producer).op != OpCode::kToCodes) return false;
  const ValueId codes = graph.node(producer).inputs[0];
  return SameType(graph, codes, graph.node(id).outputs[0]) &&
         Bypass(graph, id, codes, "its tensor is quantised already");
}

/// What moves plain integers that were quantised ones moves the numbers that these stood for.
bool LiftFromCodes(Graph& graph, NodeId id) {
  std::vector<ValueId> inputs = graph.node(id).inputs;
  std::optional<CodeType> type;
  const bool moves =
      QuantizedUseOf(graph.node(id).op) == QuantizedUse::kMoves || graph.node(id).op == OpCode::kMaxPool2d;
  for (size_t i = 0; moves && i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue || !IsMoved(graph.node(id).op, i)) continue;
    const NodeId producer = graph.value(inputs[i]).producer;
    if (producer == kNoNode || graph.node(producer).op != OpCode::kToCodes) return false;
    const ValueId codes = graph.node(producer).inputs[0];
    const CodeType own = CodeTypeOf(graph, codes);
    if (!own.quantization->per_tensor() || (type && !(*type == own))) return false;
    type = own;
    inputs[i] = codes;
  }
  if (!type) return false;
  const std::string base = graph.node(id).name;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != kNoValue && IsMoved(graph.node(id).op, i))
      inputs[i] = EmitTyped(graph, OpCode::kDequantize, {inputs[i]}, NoAttrs(), base + ".real", id);
  }
  SetInputs(graph, id, inputs);
  for (size_t i = 0; i < graph.node(id).outputs.size(); ++i) {
    const ValueId numbers = graph.node(id).outputs[i];
    const Value before = graph.value(numbers);
    graph.value(numbers).dtype = DType::kF32;
    graph.value(numbers).elements = nullptr;
    graph.value(numbers).source.clear();
    const ValueId codes = EmitCodes(graph, OpCode::kQuantize, numbers, *type, before.name + ".codes", id);
    const ValueId plain = EmitTyped(graph, OpCode::kToCodes, {codes},
                                    CastAttrs{static_cast<int64_t>(type->dtype)}, before.name + ".plain", id);
    graph.value(plain).source = before.source;
    graph.value(plain).source_perm = before.source_perm;
    graph.ReplaceUses(numbers, plain);
    graph.SetInput(graph.value(codes).producer, 0, numbers);
  }
  return true;
}

bool Simplify(Graph& graph, NodeId id) {
  switch (graph.node(id).op) {
    case OpCode::kDequantize:
      return SimplifyDequantize(graph, id);
    case OpCode::kQuantize:
      return SimplifyQuantize(graph, id);
    case OpCode::kFromCodes:
      return SimplifyFromCodes(graph, id);
    default:
      return LiftFromCodes(graph, id);
  }
}

}  // namespace

void SimplifyQdq(Graph& graph) {
  bool changed = true;
  for (int sweep = 0; changed && sweep < kMaxSimplifySweeps; ++sweep) {
    changed = false;
    ForEachNode(graph, [&](NodeId id) { changed |= Simplify(graph, id); });
  }
}

}  // namespace skiff
