// Quantised u8 as i8: the same numbers, 128 codes further down. Kernels of products want activations and
// weights of one dtype, and those for i8 are the faster ones.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/fuse/linear.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int32_t kShift = 128;

bool IsU8(const Value& value) { return value.dtype == DType::kU8 && value.quantization; }

/// Zero points of weights stand outside of the sums of unsigned kernels alone.
bool HasShiftedWeights(const Graph& graph, const Node& node) {
  if (node.removed || !IsLinear(node.op) || !graph.value(node.inputs[0]).quantization) return false;
  const Value& weights = graph.value(node.inputs[1]);
  return IsU8(weights) && !HasZeroPoint(*weights.quantization, kShift);
}

QuantizationPtr Shifted(const Quantization& from) {
  if (from.per_tensor()) return PerTensor(from.scale, from.zero_point - kShift);
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < from.count; ++i) zero_points.push_back(from.ZeroPointAt(i) - kShift);
  if (std::all_of(zero_points.begin(), zero_points.end(), [](int32_t at) { return at == 0; }))
    zero_points.clear();
  return PerAxis(from.axis, {from.scales, from.scales + from.count}, zero_points, from.block);
}

TensorData ShiftedData(const TensorData& data) {
  TensorData shifted(DType::kI8, data.shape());
  const auto* from = data.as<uint8_t>();
  auto* to = static_cast<uint8_t*>(shifted.mutable_data());
  for (int64_t i = 0; i < data.elements(); ++i) to[i] = from[i] ^ 0x80u;
  return shifted.Quantized(Shifted(*data.quantization()));
}

/// Users that read u8 as well as i8, and those for which it has to stay.
bool TakesU8(const Node& user) {
  return user.op == OpCode::kDequantize || user.op == OpCode::kRequantize || user.op == OpCode::kToCodes;
}

/// What comes from outside stays u8; for its users a Requantize makes i8 of it, or another constant is made.
void ShiftInside(Graph& graph, ValueId id) {
  const std::vector<Use> uses = graph.value(id).uses;
  ValueId shifted = kNoValue;
  for (const Use& use : uses) {
    if (TakesU8(graph.node(use.node)) || !graph.node(use.node).bodies.empty()) continue;
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
void ShiftResult(Graph& graph, ValueId id) {
  const CodeType before = CodeTypeOf(graph, id);
  graph.value(id).dtype = DType::kI8;
  graph.value(id).quantization = Shifted(*before.quantization);
  const std::vector<Use> uses = graph.value(id).uses;
  const auto leaves = [&](const Use& use) {
    const Node& user = graph.node(use.node);
    return user.op == OpCode::kToCodes || !user.bodies.empty();
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
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (HasShiftedWeights(graph, graph.node(id))) return;
  }
  const ValueId count = graph.value_count();
  for (ValueId id = 0; id < count; ++id) {
    const Value& value = graph.value(id);
    if (!IsU8(value)) continue;
    const bool outside = value.producer == kNoNode || graph.node(value.producer).op == OpCode::kFromCodes ||
                         !graph.node(value.producer).bodies.empty();
    if (outside) {
      ShiftInside(graph, id);
    } else {
      ShiftResult(graph, id);
    }
  }
}

}  // namespace skiff
