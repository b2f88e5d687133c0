// Dequantize, operator, Quantize becomes the operator over integers: what it means is the same
// (docs/numerics.md), but for the float that the result was rounded to in between.
#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/fuse/linear.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/quantize/room_for_bias.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int kMaxFoldSweeps = 100;
constexpr int kWeights = 1;
constexpr size_t kBias = 2;

/// Operators that are worth it: delegates compute them on integers. Others stay among floats, where they are
/// faster than as integers on the reference kernels.
constexpr OpCode kFolded[] = {
    OpCode::kAbs,
    OpCode::kNeg,
    OpCode::kExp,
    OpCode::kLog,
    OpCode::kSqrt,
    OpCode::kReciprocal,
    OpCode::kSigmoid,
    OpCode::kTanh,
    OpCode::kErf,
    OpCode::kFloor,
    OpCode::kCeil,
    OpCode::kRound,
    OpCode::kSign,
    OpCode::kSin,
    OpCode::kCos,
    OpCode::kSoftplus,
    OpCode::kHardSwish,
    OpCode::kSilu,
    OpCode::kGelu,
    OpCode::kClamp,
    OpCode::kLeakyRelu,
    OpCode::kElu,
    OpCode::kHardSigmoid,
    OpCode::kAdd,
    OpCode::kSub,
    OpCode::kMul,
    OpCode::kDiv,
    OpCode::kMin,
    OpCode::kMax,
    OpCode::kPRelu,
    OpCode::kConv2d,
    OpCode::kConvTranspose2d,
    OpCode::kFullyConnected,
    OpCode::kAveragePool2d,
    OpCode::kResize2d,
    OpCode::kReduceMean,
    OpCode::kReduceSum,
    OpCode::kPad,
    OpCode::kSoftmax,
};

template <size_t kCount>
bool IsOneOf(const OpCode (&ops)[kCount], OpCode op) {
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

bool IsFolded(const Node& node) {
  if (node.op == OpCode::kResize2d) return node.As<ResizeAttrs>().mode == ResizeMode::kLinear;
  return IsOneOf(kFolded, node.op);
}

/// Whether integers would come from there, once this pass is done.
bool ComesFromIntegers(const Graph& graph, ValueId value, int& visits) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || ++visits > kMostVisits) return false;
  const Node& node = graph.node(producer);
  if (node.op == OpCode::kDequantize) return true;
  if (IsFolded(node)) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return DequantizedFrom(graph, input) != kNoValue; });
  }
  const std::vector<size_t> picked = PickedInputs(graph, node);
  return std::any_of(picked.begin(), picked.end(),
                     [&](size_t i) { return ComesFromIntegers(graph, node.inputs[i], visits); });
}

/// Products of such numbers, and sums of 2^60 of them, are finite.
constexpr float kModest = 1e9f;

/// Operators whose results are no NaN where no input is one, be it infinite.
constexpr OpCode kKeepNumbers[] = {OpCode::kAbs,   OpCode::kNeg,  OpCode::kExp,     OpCode::kSigmoid,
                                   OpCode::kTanh,  OpCode::kErf,  OpCode::kFloor,   OpCode::kCeil,
                                   OpCode::kRound, OpCode::kSign, OpCode::kClamp,   OpCode::kMin,
                                   OpCode::kMax,   OpCode::kPad,  OpCode::kSoftplus};

/// Operators whose results are no NaN where all inputs are modest.
constexpr OpCode kAddModest[] = {
    OpCode::kAdd,           OpCode::kSub, OpCode::kMul, OpCode::kConv2d, OpCode::kConvTranspose2d,
    OpCode::kFullyConnected};

bool AllFloats(const TensorData& constant, bool (*holds)(float)) {
  return constant.dtype() == DType::kF32 &&
         std::all_of(constant.as<float>(), constant.as<float>() + constant.elements(), holds);
}

/// A constant, or numbers that integers stand for.
bool IsModest(const Graph& graph, ValueId value) {
  if (const auto& constant = graph.value(value).constant)
    return AllFloats(*constant, [](float number) { return std::abs(number) <= kModest; });
  const ValueId codes = DequantizedFrom(graph, value);
  if (codes == kNoValue) return false;
  const Quantization& quantization = *graph.value(codes).quantization;
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (std::ldexp(quantization.ScaleAt(i), DTypeBits(graph.value(codes).dtype)) > kModest) return false;
  }
  return true;
}

/// Whether no number there can be NaN, which is the largest of any, and whose code is not.
bool IsNeverNan(const Graph& graph, ValueId value, int& visits) {
  const NodeId producer = graph.value(value).producer;
  if (const auto& constant = graph.value(value).constant)
    return AllFloats(*constant, [](float number) { return !std::isnan(number); });
  if (producer == kNoNode || ++visits > kMostVisits) return false;
  const Node& node = graph.node(producer);
  if (node.op == OpCode::kDequantize) return true;
  const auto holds = [&](const auto& of) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == kNoValue || !IsFloat(graph.value(input).dtype) || of(input);
    });
  };
  if (IsOneOf(kAddModest, node.op)) return holds([&](ValueId input) { return IsModest(graph, input); });
  return (IsOneOf(kKeepNumbers, node.op) || !PickedInputs(graph, node).empty()) &&
         holds([&](ValueId input) { return IsNeverNan(graph, input, visits); });
}

/// Whether delegates do the like on such integers: what picks the largest or the nearest knows 8 bits.
bool PicksIntegers(const Node& node, DType dtype) {
  return DTypeBits(dtype) != 16 || QuantizedUseOf(node.op) == QuantizedUse::kMoves;
}

/// Quantize behind a movement goes before it, where integers come from. Rounding is monotonous, so that the
/// largest of rounded numbers is the rounded largest one, but for NaN.
bool HoistQuantize(Graph& graph, NodeId id) {
  const std::vector<size_t> picked = PickedInputs(graph, graph.node(id));
  const std::optional<CodeType> type = picked.empty() ? std::nullopt : QuantizedTo(graph, graph.node(id));
  if (!type || !PicksIntegers(graph.node(id), type->dtype)) return false;
  std::vector<ValueId> inputs = graph.node(id).inputs;
  int visits = 0;
  if (std::none_of(picked.begin(), picked.end(),
                   [&](size_t i) { return ComesFromIntegers(graph, inputs[i], visits); }))
    return false;
  if (graph.node(id).op == OpCode::kMaxPool2d && !IsNeverNan(graph, inputs[0], visits)) return false;
  for (size_t i : picked) {
    inputs[i] =
        EmitCodes(graph, OpCode::kQuantize, inputs[i], *type, graph.value(inputs[i]).name + ".codes", id);
  }
  SetInputs(graph, id, inputs);
  TakeOverQuantize(graph, id, *type);
  graph.Note(id, fmt::format("moves integers{}", QuantizationText(type->quantization)));
  return true;
}

/// A movement of numbers that integers stand for moves the integers.
bool SinkDequantize(Graph& graph, NodeId id) {
  const OpCode op = graph.node(id).op;
  if (op == OpCode::kExpand || op == OpCode::kTile)
    return false;  // More numbers would be made of fewer integers.
  const std::vector<size_t> picked = PickedInputs(graph, graph.node(id));
  std::vector<ValueId> inputs = graph.node(id).inputs;
  std::optional<CodeType> type;
  for (size_t i : picked) {
    inputs[i] = DequantizedFrom(graph, inputs[i]);
    if (inputs[i] == kNoValue) return false;
    const CodeType own = CodeTypeOf(graph, inputs[i]);
    if (!own.quantization->per_tensor() || DTypeBits(own.dtype) < 8 || (type && !(*type == own)))
      return false;
    type = own;
  }
  if (!type || !PicksIntegers(graph.node(id), type->dtype)) return false;
  for (size_t i : picked) TakeCodes(graph, graph.node(id).inputs[i]);
  SetInputs(graph, id, inputs);
  for (size_t i = 0; i < graph.node(id).outputs.size(); ++i) {
    const ValueId codes = graph.node(id).outputs[i];
    const Value before = graph.value(codes);
    graph.value(codes).dtype = type->dtype;
    graph.value(codes).quantization = type->quantization;
    graph.value(codes).source.clear();
    if (before.uses.empty() && !graph.IsGraphOutput(codes)) continue;
    const ValueId numbers =
        EmitTyped(graph, OpCode::kDequantize, {codes}, NoAttrs(), before.name + ".real", id);
    graph.value(numbers).source = before.source;
    graph.value(numbers).source_perm = before.source_perm;
    graph.ReplaceUses(codes, numbers);
    graph.SetInput(graph.value(numbers).producer, 0, codes);
  }
  graph.Note(id, fmt::format("moves integers{}", QuantizationText(type->quantization)));
  return true;
}

/// Whether an integer of some scale is this constant.
bool IsExactScalar(const Graph& graph, ValueId value) {
  const std::optional<double> number = ScalarConstant(graph, value);
  return number && graph.value(value).dtype == DType::kF32 &&
         (*number == 0 || std::isnormal(static_cast<float>(*number)));
}

ValueId ExactScalar(Graph& graph, ValueId value) {
  const double number = *ScalarConstant(graph, value);
  TensorData code(DType::kI8, graph.value(value).constant->shape());
  *static_cast<int8_t*>(code.mutable_data()) = static_cast<int8_t>((number > 0) - (number < 0));
  const float scale = number == 0 ? 1 : static_cast<float>(std::abs(number));
  return graph.AddConstant(graph.value(value).name + ".code", code.Quantized(PerTensor(scale)));
}

/// Constants that an operator takes as floats among integers: biases, and what a Pad fills with.
bool MayStayFloat(const Graph& graph, const Node& node, size_t input) {
  constexpr size_t kFilling = 2;
  const bool takes = (IsLinear(node.op) && input == kBias) || (node.op == OpCode::kPad && input == kFilling);
  return takes && graph.value(node.inputs[input]).constant;
}

/// "" where the operator can compute on integers.
std::string WhyAmongFloats(const Graph& graph, const Node& node, const std::optional<CodeType>& type) {
  if (!IsFolded(node)) return "no delegate computes it on integers";
  if (!type) return "its result is not rounded to one quantisation alone";
  if (DTypeSize(type->dtype) != 1) return fmt::format("its result is rounded to {}", DTypeName(type->dtype));
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue || FindOp(node.op)->NeedsValues(i) || MayStayFloat(graph, node, i))
      continue;
    const ValueId codes = DequantizedFrom(graph, node.inputs[i]);
    const bool weights = IsLinear(node.op) && i == kWeights;
    if (codes == kNoValue) {
      if (!weights && IsExactScalar(graph, node.inputs[i])) continue;
      return fmt::format("input {} is not quantised", i);
    }
    const Value& value = graph.value(codes);
    any |= !value.constant;
    if (value.constant) continue;
    if (weights) return "its weights are not constant";
    if (!value.quantization->per_tensor()) return fmt::format("input {} has more than one scale", i);
    if (DTypeSize(value.dtype) != 1) return fmt::format("input {} is {}", i, DTypeName(value.dtype));
  }
  return any ? "" : "all of its inputs are constants";
}

std::vector<ValueId> TakeIntegers(Graph& graph, NodeId id) {
  std::vector<ValueId> inputs = graph.node(id).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue || FindOp(graph.node(id).op)->NeedsValues(i)) continue;
    const ValueId codes = TakeCodes(graph, inputs[i]);
    if (codes != kNoValue) {
      inputs[i] = codes;
    } else if (!MayStayFloat(graph, graph.node(id), i)) {
      inputs[i] = ExactScalar(graph, inputs[i]);
    }
  }
  return inputs;
}

bool HasWeightsOfIntegers(const Graph& graph, NodeId id) {
  const ValueId codes = DequantizedFrom(graph, InputOf(graph, id, kWeights));
  return codes != kNoValue && graph.value(codes).constant;
}

/// i8 around 0, with one scale or one for each output.
bool IsSymmetric(const Value& weights) {
  const Quantization& quantization = *weights.quantization;
  return weights.dtype == DType::kI8 && (quantization.per_tensor() || quantization.axis == 0) &&
         quantization.block == 0 && HasZeroPoint(quantization, 0);
}

/// Products of floats with quantised constants. A FullyConnected reads weights of i8 as they are; others keep
/// their Dequantize: a constant that the file has in fewer bits, which delegates read or make floats of.
void TakeQuantizedWeights(Graph& graph, NodeId id) {
  if (!IsLinear(graph.node(id).op) || !HasWeightsOfIntegers(graph, id)) return;
  std::vector<ValueId> inputs = graph.node(id).inputs;
  const ValueId weights = DequantizedFrom(graph, inputs[kWeights]);
  if (graph.node(id).op != OpCode::kFullyConnected || !IsSymmetric(graph.value(weights))) {
    graph.Note(id, "its weights stay integers in the file");
    return;
  }
  inputs[kWeights] = weights;
  SetInputs(graph, id, inputs);
  graph.Note(id, "computes on floats with quantised weights");
}

bool TouchesIntegers(const Graph& graph, const Node& node) {
  const auto dequantized = [&](ValueId value) { return DequantizedFrom(graph, value) != kNoValue; };
  return QuantizedUseOf(node.op) != QuantizedUse::kNone &&
         std::any_of(node.inputs.begin(), node.inputs.end(), dequantized);
}

/// Kernels of Pad keep codes: those of another scale are made before, and the value stays a number.
void MakePadKeepCodes(Graph& graph, NodeId id, const CodeType& type, std::vector<ValueId>* inputs) {
  constexpr size_t kValue = 2;
  ValueId& x = (*inputs)[0];
  if (graph.value(x).quantization && CodeTypeOf(graph, x) != type)
    x = EmitCodes(graph, OpCode::kRequantize, x, type, graph.node(id).name + ".requantized", id);
  if (inputs->size() <= kValue || (*inputs)[kValue] == kNoValue) return;
  ValueId& value = (*inputs)[kValue];
  if (graph.value(value).quantization && CodeTypeOf(graph, value) != type)
    value = graph.node(id).inputs[kValue];
}

bool Fold(Graph& graph, NodeId id) {
  if (!TouchesIntegers(graph, graph.node(id))) return false;
  const std::optional<CodeType> type = QuantizedTo(graph, graph.node(id));
  if (!WhyAmongFloats(graph, graph.node(id), type).empty()) return false;
  std::vector<ValueId> inputs = TakeIntegers(graph, id);
  if (graph.node(id).op == OpCode::kPad) MakePadKeepCodes(graph, id, *type, &inputs);
  SetInputs(graph, id, inputs);
  TakeOverQuantize(graph, id, *type);
  graph.Note(id, fmt::format("computes on integers{}", QuantizationText(type->quantization)));
  return true;
}

/// What stays, and why.
void Explain(Graph& graph, NodeId id) {
  const OpCode op = graph.node(id).op;
  if (op == OpCode::kQuantize || op == OpCode::kDequantize || !TouchesIntegers(graph, graph.node(id))) return;
  const std::optional<CodeType> type = QuantizedTo(graph, graph.node(id));
  graph.Note(id, "stays among floats: " + WhyAmongFloats(graph, graph.node(id), type));
  TakeQuantizedWeights(graph, id);
}

}  // namespace

void FoldQdq(Graph& graph) {
  bool changed = true;
  for (int sweep = 0; changed && sweep < kMaxFoldSweeps; ++sweep) {
    changed = false;
    const std::vector<NodeId> order = graph.TopologicalOrder();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (!graph.node(*id).removed && !TouchesQuantized(graph, graph.node(*id)))
        changed |= HoistQuantize(graph, *id);
    }
    SimplifyQdq(graph);
    ForEachPlainNode(graph, [&](NodeId id) {
      if (SinkDequantize(graph, id) || Fold(graph, id)) changed = true;
    });
  }
  ForEachPlainNode(graph, [&](NodeId id) { Explain(graph, id); });
  ForEachNode(graph, [&](NodeId id) { LeaveRoomForBias(graph, id); });
}

}  // namespace skiff
