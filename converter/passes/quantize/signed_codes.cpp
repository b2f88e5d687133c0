// Quantised u8 as i8: the same numbers, 128 codes further down. Kernels of products want activations and
// weights of one dtype, and those for i8 are the faster ones.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/folding_budget.h"
#include "passes/fuse/linear.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int32_t kShift = 128;

bool IsU8(const Value& value) { return value.dtype == DType::kU8 && value.quantization; }

QuantizationPtr Shifted(const Quantization& from, int32_t by = -kShift) {
  if (from.per_tensor()) return PerTensor(from.scale, from.zero_point + by);
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < from.count; ++i) zero_points.push_back(from.ZeroPointAt(i) + by);
  if (std::all_of(zero_points.begin(), zero_points.end(), [](int32_t at) { return at == 0; }))
    zero_points.clear();
  return PerAxis(from.axis, {from.scales, from.scales + from.count}, zero_points, from.block);
}

/// u8 as i8, or i8 as u8.
TensorData ShiftedData(const TensorData& data) {
  const bool is_u8 = data.dtype() == DType::kU8;
  TensorData shifted(is_u8 ? DType::kI8 : DType::kU8, data.shape());
  const auto* from = data.as<uint8_t>();
  auto* to = static_cast<uint8_t*>(shifted.mutable_data());
  for (int64_t i = 0; i < data.elements(); ++i) to[i] = from[i] ^ 0x80u;
  return shifted.Quantized(Shifted(*data.quantization(), is_u8 ? -kShift : kShift));
}

bool MultipliesCodes(const Graph& graph, const Node& node) {
  return !node.removed && IsLinear(node.op) && graph.value(node.inputs[0]).quantization;
}

/// Codes of 4 bits less their zero points, which 8 bits hold.
TensorData Widened(const TensorData& data) {
  const Quantization& before = *data.quantization();
  const ScaleIndex scale_of(before, data.shape());
  TensorData wide(DType::kI8, data.shape());
  auto* to = static_cast<int8_t*>(wide.mutable_data());
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int bits = data.as<uint8_t>()[i / 2] >> (i % 2 * 4) & 15;
    const int code = data.dtype() == DType::kI4 ? (bits ^ 8) - 8 : bits;
    to[i] = static_cast<int8_t>(code - before.ZeroPointAt(scale_of(i)));
  }
  if (before.per_tensor()) return wide.Quantized(PerTensor(before.scale));
  return wide.Quantized(PerAxis(before.axis, {before.scales, before.scales + before.count}));
}

/// Weights that no kernel makes bytes of bytes by, as others that stand for the same numbers: there are none
/// of 4 bits, and those of i8 want them around 0, those of u8 around any number.
void ShapeWeights(Graph& graph, NodeId id) {
  const Value& result = graph.value(graph.node(id).outputs[0]);
  if (!MultipliesCodes(graph, graph.node(id)) || !result.quantization || DTypeBits(result.dtype) != 8) return;
  const ValueId from = graph.node(id).inputs[1];
  const Value& weights = graph.value(from);
  if (!weights.constant || !weights.quantization || weights.quantization->block > 0) return;
  const bool widened = DTypeBits(weights.dtype) == 4;
  const bool shifted = weights.dtype == DType::kI8 && weights.quantization->per_tensor() &&
                       weights.quantization->zero_point != 0 && IsU8(graph.value(graph.node(id).inputs[0]));
  if ((!widened && !shifted) || !TakeFoldingBytes(graph, weights.constant->elements())) return;
  const ValueId shaped = graph.AddConstant(
      weights.name + ".bytes", widened ? Widened(*weights.constant) : ShiftedData(*weights.constant));
  graph.SetInput(id, 1, shaped);
}

/// Zero points of weights stand outside of the sums of unsigned kernels alone, one for all channels.
bool WantsUnsigned(const Graph& graph, const Node& node) {
  if (!MultipliesCodes(graph, node)) return false;
  const Value& weights = graph.value(node.inputs[1]);
  return IsU8(weights) && weights.quantization->per_tensor() && weights.quantization->zero_point != kShift;
}

/// Scales of channels are those of signed kernels alone.
bool WantsSigned(const Graph& graph, const Node& node) {
  if (!MultipliesCodes(graph, node)) return false;
  const Value& weights = graph.value(node.inputs[1]);
  return weights.dtype == DType::kI8 || (IsU8(weights) && !weights.quantization->per_tensor() &&
                                         HasZeroPoint(*weights.quantization, kShift));
}

/// Users that read u8 as well as i8, and those for which it has to stay.
bool TakesU8(const Node& user) {
  return user.op == OpCode::kDequantize || user.op == OpCode::kRequantize || user.op == OpCode::kToCodes;
}

/// Products that want unsigned codes, and what they share codes with, up to products that want signed ones.
std::vector<bool> UnsignedNodes(const Graph& graph) {
  std::vector<bool> stay(static_cast<size_t>(graph.node_count()), false);
  std::vector<bool> shared(static_cast<size_t>(graph.value_count()), false);
  std::vector<NodeId> reached;
  const auto reach = [&](NodeId id) {
    const Node& node = graph.node(id);
    if (stay[static_cast<size_t>(id)] || !node.bodies.empty() || WantsSigned(graph, node)) return;
    stay[static_cast<size_t>(id)] = true;
    reached.push_back(id);
  };
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (WantsUnsigned(graph, graph.node(id))) reach(id);
  }
  while (!reached.empty()) {
    const Node& node = graph.node(reached.back());
    reached.pop_back();
    std::vector<ValueId> values = node.outputs;
    if (!TakesU8(node)) values.insert(values.end(), node.inputs.begin(), node.inputs.end());
    for (const ValueId id : values) {
      if (id == kNoValue || !IsU8(graph.value(id)) || shared[static_cast<size_t>(id)]) continue;
      shared[static_cast<size_t>(id)] = true;
      if (graph.value(id).producer != kNoNode) reach(graph.value(id).producer);
      for (const Use& use : graph.value(id).uses) {
        if (!TakesU8(graph.node(use.node))) reach(use.node);
      }
    }
  }
  return stay;
}

/// What comes from outside, or from a node that stays unsigned, stays u8; for users that do not a Requantize
/// makes i8 of it, or another constant is made.
void ShiftInside(Graph& graph, ValueId id, const std::vector<bool>& stay) {
  const std::vector<Use> uses = graph.value(id).uses;
  ValueId shifted = kNoValue;
  for (const Use& use : uses) {
    const Node& user = graph.node(use.node);
    if (TakesU8(user) || !user.bodies.empty() || stay[static_cast<size_t>(use.node)]) continue;
    if (shifted == kNoValue && graph.value(id).constant) {
      shifted = graph.AddConstant(graph.value(id).name + ".signed", ShiftedData(*graph.value(id).constant));
    } else if (shifted == kNoValue) {
      const CodeType type{DType::kI8, Shifted(*graph.value(id).quantization)};
      shifted = EmitCodes(graph, OpCode::kRequantize, id, type, graph.value(id).name + ".signed", use.node);
    }
    graph.SetInput(use.node, use.input, shifted);
  }
}

/// What a node makes is i8, and u8 again where it leaves.
void ShiftResult(Graph& graph, ValueId id, const std::vector<bool>& stay) {
  const CodeType before = CodeTypeOf(graph, id);
  graph.value(id).dtype = DType::kI8;
  graph.value(id).quantization = Shifted(*before.quantization);
  const std::vector<Use> uses = graph.value(id).uses;
  const auto leaves = [&](const Use& use) {
    const Node& user = graph.node(use.node);
    if (TakesU8(user)) return user.op == OpCode::kToCodes;
    return !user.bodies.empty() || stay[static_cast<size_t>(use.node)];
  };
  const bool is_output = graph.IsGraphOutput(id);
  if (!is_output && std::none_of(uses.begin(), uses.end(), leaves)) return;
  const NodeId producer = graph.value(id).producer;
  const ValueId unsigned_codes =
      EmitCodes(graph, OpCode::kRequantize, id, before, graph.value(id).name + ".unsigned", producer);
  for (const Use& use : uses) {
    if (leaves(use)) graph.SetInput(use.node, use.input, unsigned_codes);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i].value == id) graph.SetOutput(i, unsigned_codes);
  }
}

}  // namespace

void SignedCodes(Graph& graph) {
  ForEachNode(graph, [&](NodeId id) { ShapeWeights(graph, id); });
  const std::vector<bool> stay = UnsignedNodes(graph);
  const ValueId count = graph.value_count();
  for (ValueId id = 0; id < count; ++id) {
    const Value& value = graph.value(id);
    if (!IsU8(value)) continue;
    const bool stays = value.producer == kNoNode || graph.node(value.producer).op == OpCode::kFromCodes ||
                       !graph.node(value.producer).bodies.empty() ||
                       stay[static_cast<size_t>(value.producer)];
    if (stays) {
      ShiftInside(graph, id, stay);
    } else {
      ShiftResult(graph, id, stay);
    }
  }
}

}  // namespace skiff
