// Quantised constants take the form that operators want of their weights.
#include <algorithm>

#include "graph/evaluate.h"
#include "graph/prefix.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/fuse/linear.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Where the axis with the scales lies behind a node that only regroups or permutes axes; nothing where it is
/// an axis no more.
std::optional<int> MovedAxis(const Node& node, const Quantization& quantization, const Shape& from,
                             const Shape& to) {
  if (node.op == OpCode::kTranspose || node.op == OpCode::kIdentity) {
    Quantization moved;
    if (!MovedQuantization(node.op, node.attrs, quantization, from.rank(), &moved)) return {};
    return moved.axis;
  }
  const int64_t before = from.ElementsBetween(0, quantization.axis);
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to.ElementsBetween(0, axis) == before && to[axis] == from[quantization.axis]) return axis;
  }
  return {};
}

bool IsRegrouping(OpCode op) {
  return op == OpCode::kTranspose ||
         (FindOp(op)->Is(OpTraits::kReinterpret) && QuantizedUseOf(op) == QuantizedUse::kMoves);
}

std::optional<TensorData> Transposed(const Graph& graph, const Node& node, const TensorData& plain) {
  auto results = EvaluateIfSupported(graph, node, {&plain});
  if (!results) return {};
  return (*results)[0];
}

/// Integers of four bits are transposed as bytes.
std::optional<TensorData> TransposedCodes(const Graph& graph, const Node& node, const TensorData& codes) {
  if (DTypeBits(codes.dtype()) == 8 * DTypeSize(codes.dtype())) {
    return Transposed(graph, node, TensorData(codes.dtype(), codes.shape(), codes.data()));
  }
  const std::vector<int64_t> integers = codes.ToInts();
  TensorData bytes(DType::kI8, codes.shape());
  std::copy(integers.begin(), integers.end(), static_cast<int8_t*>(bytes.mutable_data()));
  const std::optional<TensorData> moved = Transposed(graph, node, bytes);
  if (!moved) return {};
  TensorData packed(codes.dtype(), moved->shape());
  auto* to = static_cast<uint8_t*>(packed.mutable_data());
  for (size_t i = 0; i < integers.size(); ++i)
    to[i / 2] = static_cast<uint8_t>(to[i / 2] | (moved->as<uint8_t>()[i] & 15) << (i % 2 * 4));
  return packed;
}

/// Scales of blocks are a tensor of their own, which is transposed as the integers are.
QuantizationPtr TransposedBlocks(const Graph& graph, const Node& node, const TensorData& codes) {
  const Quantization& from = *codes.quantization();
  Quantization axis_only;
  axis_only.axis = from.axis;
  axis_only.count = codes.shape()[from.axis];
  Quantization moved;
  if (!MovedQuantization(node.op, node.attrs, axis_only, codes.shape().rank(), &moved)) return nullptr;
  Shape shape = codes.shape();
  shape[from.axis] = shape[from.axis] / from.block + (shape[from.axis] % from.block != 0 ? 1 : 0);
  const auto scales = Transposed(graph, node, TensorData(DType::kF32, shape, from.scales));
  std::optional<TensorData> zeros;
  if (from.zero_points != nullptr)
    zeros = Transposed(graph, node, TensorData(DType::kI32, shape, from.zero_points));
  if (!scales || (from.zero_points != nullptr && !zeros)) return nullptr;
  const auto* first = scales->as<float>();
  std::vector<int32_t> zero_points;
  if (zeros) zero_points.assign(zeros->as<int32_t>(), zeros->as<int32_t>() + from.count);
  return PerAxis(moved.axis, {first, first + from.count}, std::move(zero_points), from.block);
}

/// Null where the scales cannot follow.
QuantizationPtr Moved(const Graph& graph, const Node& node, const TensorData& codes, const Shape& to) {
  const QuantizationPtr& quantization = codes.quantization();
  if (quantization->per_tensor()) return quantization;
  if (quantization->block > 0)
    return node.op == OpCode::kTranspose ? TransposedBlocks(graph, node, codes) : nullptr;
  const std::optional<int> axis = MovedAxis(node, *quantization, codes.shape(), to);
  return axis ? AlongAxis(quantization, *axis) : nullptr;
}

/// A movement of a dequantised constant: the constant is moved ahead of time.
bool MoveConstant(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!IsRegrouping(node.op) || !graph.value(node.outputs[0]).has_static_shape()) return false;
  const ValueId codes = DequantizedFrom(graph, node.inputs[0]);
  if (codes == kNoValue || !graph.value(codes).constant) return false;
  const TensorData data = *graph.value(codes).constant;
  const Shape to = graph.value(node.outputs[0]).shape();
  // Users that share the floats share the integers.
  const bool shared = graph.value(node.inputs[0]).uses.size() > 1;
  if (shared ? !TakeFoldingBytes(graph, static_cast<int64_t>(data.size_bytes()))
             : !TakeFoldingCopy(graph, codes))
    return false;
  const QuantizationPtr quantization = Moved(graph, node, data, to);
  if (!quantization) return false;
  std::optional<TensorData> moved = data.Reshaped(to);
  if (node.op == OpCode::kTranspose) moved = TransposedCodes(graph, node, data);
  if (!moved) return false;
  const ValueId constant =
      graph.AddConstant(PrefixOf(graph.value(codes).name) + ".moved", moved->Quantized(quantization));
  graph.Note(id, "evaluated ahead of time, on integers");
  Become(graph, id, OpCode::kDequantize, {constant});
  return true;
}

bool IsConstantMatrix(const Graph& graph, ValueId value) {
  const ValueId codes = DequantizedFrom(graph, value);
  return codes != kNoValue && graph.value(codes).constant && graph.value(codes).dims.size() == 2;
}

/// As FuseLinear does with floats.
bool MatMulToFullyConnected(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const MatMulAttrs attrs = node.As<MatMulAttrs>();
  const ValueId x = node.inputs[0];
  ValueId weights = node.inputs[1];
  if (!IsConstantMatrix(graph, weights) || graph.value(x).constant || graph.value(x).dims.empty())
    return false;
  if (!attrs.transpose_b) {
    weights = EmitTyped(graph, OpCode::kTranspose, {weights}, TransposeAttrs{{1, 0}}, "", id);
    const NodeId transpose = graph.value(weights).producer;
    if (!MoveConstant(graph, transpose)) {
      graph.RemoveNode(transpose);
      return false;
    }
  }
  Become(graph, id, OpCode::kFullyConnected, {x, weights}, ClampAttrs{attrs.min, attrs.max});
  graph.Note(id, "became FullyConnected: one factor is constant");
  return true;
}

bool IsProduct(OpCode op) { return IsLinear(op) || op == OpCode::kMatMul; }

bool AreWeights(const Graph& graph, ValueId value) {
  const std::vector<Use>& uses = graph.value(value).uses;
  return !graph.IsGraphOutput(value) && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.input == 1 && IsProduct(graph.node(use.node).op);
  });
}

/// Which input of the node is codes that serve as weights only, if any.
std::optional<int> CodesOfWeights(const Graph& graph, const Node& node) {
  if (node.op == OpCode::kDequantize && AreWeights(graph, node.outputs[0])) return 0;
  return IsProduct(node.op) ? std::optional<int>(1) : std::nullopt;
}

/// The codes less their zero points, of the scales for which those are codes, too; nothing where none are.
std::optional<TensorData> Centred(const TensorData& data) {
  const Quantization& before = *data.quantization();
  const ScaleIndex scale_of(before, data.shape());
  const auto shifted = [&](int64_t i) { return data.as<int8_t>()[i] - before.ZeroPointAt(scale_of(i)); };
  std::vector<int32_t> zero_points(static_cast<size_t>(before.count), 0);
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int64_t scale = scale_of(i);
    if (shifted(i) < -128 || shifted(i) > 127)
      zero_points[static_cast<size_t>(scale)] = before.ZeroPointAt(scale);
  }
  TensorData centred(DType::kI8, data.shape());
  bool changed = false;
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int64_t scale = scale_of(i);
    const bool stays = zero_points[static_cast<size_t>(scale)] == before.ZeroPointAt(scale);
    changed = changed || !stays;
    static_cast<int8_t*>(centred.mutable_data())[i] =
        static_cast<int8_t>(stays ? data.as<int8_t>()[i] : shifted(i));
  }
  if (!changed) return std::nullopt;
  if (before.per_tensor()) return centred.Quantized(PerTensor(before.scale, zero_points[0]));
  if (std::all_of(zero_points.begin(), zero_points.end(), [](int32_t at) { return at == 0; }))
    zero_points.clear();
  return centred.Quantized(
      PerAxis(before.axis, {before.scales, before.scales + before.count}, zero_points, before.block));
}

/// u4 around 8 as i4 around 0: a zero point of each block would take as much room in the file as its scale.
TensorData SignedNibbles(const TensorData& data) {
  constexpr uint8_t kHighBits = 0x88;
  TensorData nibbles(DType::kI4, data.shape());
  const auto* const from = data.as<uint8_t>();
  auto* const to = static_cast<uint8_t*>(nibbles.mutable_data());
  std::transform(from, from + data.size_bytes(), to,
                 [](uint8_t two) { return static_cast<uint8_t>(two ^ kHighBits); });
  if (data.elements() % 2 != 0) to[data.size_bytes() - 1] &= 15;
  const Quantization& before = *data.quantization();
  if (before.per_tensor()) return nibbles.Quantized(PerTensor(before.scale));
  return nibbles.Quantized(
      PerAxis(before.axis, {before.scales, before.scales + before.count}, {}, before.block));
}

/// Kernels of i8 want weights without zero points: where the codes fit (all of a channel are its zero point,
/// say), others stand for the same weights.
void CentreWeights(Graph& graph, NodeId id) {
  const std::optional<int> input = CodesOfWeights(graph, graph.node(id));
  if (!input) return;
  const ValueId codes_id = graph.node(id).inputs[static_cast<size_t>(*input)];
  const Value& codes = graph.value(codes_id);
  const bool nibbles = codes.dtype == DType::kU4;
  if (!codes.constant || !codes.quantization || (!nibbles && codes.dtype != DType::kI8)) return;
  if (nibbles ? !HasZeroPoint(*codes.quantization, 8) : HasZeroPoint(*codes.quantization, 0)) return;
  if (!TakeFoldingCopy(graph, codes_id)) return;
  const std::optional<TensorData> centred =
      nibbles ? SignedNibbles(*codes.constant) : Centred(*codes.constant);
  if (!centred) return;
  const ValueId constant = graph.AddConstant(PrefixOf(codes.name) + ".centred", *centred);
  graph.Note(id, "weights without zero points");
  graph.SetInput(id, *input, constant);
}

/// A product's bias that was added behind it: integers in the products' units.
bool AddToBias(Graph& graph, NodeId id) {
  const ClampAttrs clamp = graph.node(id).As<ClampAttrs>();
  for (size_t i = 0; i < 2; ++i) {
    const ValueId y = graph.node(id).inputs[i];
    const ValueId addend = graph.node(id).inputs[1 - i];
    const ValueId codes = DequantizedFrom(graph, addend);
    const NodeId product = graph.value(y).producer;
    if (codes == kNoValue || product == kNoNode || graph.OnlyUser(y) != id) continue;
    const Value& bias = graph.value(codes);
    const Node& node = graph.node(product);
    const bool takes =
        (node.op == OpCode::kFullyConnected || node.op == OpCode::kConv2d) && node.inputs.size() == 2;
    if (!takes || !bias.constant || bias.dtype != DType::kI32 || bias.dims.size() != 1 ||
        !SameType(graph, y, graph.node(id).outputs[0]) || !(bias.dims[0] == graph.value(y).dims.back()))
      continue;
    const ClampAttrs own = FusedClamp(node);
    if (!IsUnbounded(own.min, own.max) || !IsUnbounded(clamp.min, clamp.max)) continue;
    const std::vector<ValueId> inputs = {node.inputs[0], node.inputs[1], addend};
    graph.Note(id, "became the bias of '" + node.name + "'");
    SetInputs(graph, product, inputs);
    TakeOver(graph, product, id);
    return true;
  }
  return false;
}

}  // namespace

void ShapeQuantizedWeights(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    if (graph.node(id).op == OpCode::kMatMul) {
      MatMulToFullyConnected(graph, id);
    } else if (graph.node(id).op == OpCode::kAdd) {
      AddToBias(graph, id);
    } else {
      MoveConstant(graph, id);
    }
  });
  ForEachNode(graph, [&](NodeId id) { CentreWeights(graph, id); });
}

}  // namespace skiff
