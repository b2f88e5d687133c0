#include "ops/quantized.h"

#include <cstdarg>
#include <cstdio>

#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

constexpr OpRow<QuantizedUse> kUses[] = {
#define QUANTIZED(Name, use) {OpCode::k##Name, QuantizedUse::use},
#include "ops/quantized.def"
#undef QUANTIZED
};
static_assert(OpsAscend(kUses), "quantized.def must have the order of ops.def");

__attribute__((format(printf, 2, 3))) Status Wrong(char* message, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, InferContext<int64_t>::kMessageBytes, format, arguments);
  va_end(arguments);
  return Status(StatusCode::kInvalidArgument);
}

/// Both null, or one of the other's meaning on this operator's outputs.
Status CheckMoved(const OpDef& op, const AttrStorage& attrs, Span<const TensorView> inputs,
                  Span<const TensorView> outputs, char* message) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Quantization* given = inputs[i].quantization;
    if (!IsMoved(op.code, i)) {
      if (given != nullptr && op.code != OpCode::kLookup)
        return Wrong(message, "input %zu is quantised; its elements are not what is moved", i);
      continue;
    }
    Quantization moved;
    if (given != nullptr && !MovedQuantization(op.code, attrs, *given, inputs[i].shape.rank(), &moved))
      return Wrong(message, "input %zu has more than one scale, which %s cannot move", i, op.name);
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (inputs[i].dtype != outputs[o].dtype ||
          !SameQuantization(given == nullptr ? nullptr : &moved, outputs[o].quantization)) {
        return Wrong(message,
                     "input %zu and output %zu differ in quantisation; a Requantize must stand between", i,
                     o);
      }
    }
  }
  return OkStatus();
}

/// One side is quantised, and both are of one dtype.
Status CheckCodes(const OpDef& op, const TensorView& input, const TensorView& output, char* message) {
  const bool from = op.code == OpCode::kFromCodes;
  if ((from ? output : input).quantization == nullptr)
    return Wrong(message, "its %s has no quantisation", from ? "output" : "input");
  if ((from ? input : output).quantization != nullptr)
    return Wrong(message, "its %s is quantised; that is what Requantize is for", from ? "input" : "output");
  if (input.dtype != output.dtype) {
    return Wrong(message, "its input is %s and its output is %s; no element may change",
                 DTypeName(input.dtype), DTypeName(output.dtype));
  }
  return OkStatus();
}

/// Bytes in a table of bytes.
Status CheckLookup(Span<const TensorView> inputs, char* message) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype == DType::kI8 || inputs[i].dtype == DType::kU8) continue;
    return Wrong(message, "input %zu is %s; integers of 8 bits were expected", i, DTypeName(inputs[i].dtype));
  }
  return OkStatus();
}

Status CheckDTypes(const OpDef& op, Span<const TensorView> views, bool moves, const char* what,
                   char* message) {
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].dtype == DType::kInvalid) continue;
    const bool packed = DTypeBits(views[i].dtype) == 4;
    if (packed && views[i].quantization == nullptr)
      return Wrong(message, "%s %zu is %s without a quantisation", what, i, DTypeName(views[i].dtype));
    if (packed && moves) return Wrong(message, "%s cannot move %s", op.name, DTypeName(views[i].dtype));
  }
  return OkStatus();
}

}  // namespace

QuantizedUse QuantizedUseOf(OpCode op) { return FindRow(kUses, op); }

bool TouchesQuantized(const NodeTypes& node) {
  for (const Span<const PlanTensor* const> operands : {node.inputs, node.outputs}) {
    for (const PlanTensor* operand : operands) {
      if (operand != nullptr && operand->view.quantization != nullptr) return true;
    }
  }
  return false;
}

bool ComputesQuantized(const NodeTypes& node) {
  const QuantizedUse use = QuantizedUseOf(node.op->code);
  return TouchesQuantized(node) && use != QuantizedUse::kMoves && use != QuantizedUse::kCodes &&
         node.op->code != OpCode::kCustom;
}

bool HasZeroPoint(const Quantization& quantization, int32_t zero_point) {
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (quantization.ZeroPointAt(i) != zero_point) return false;
  }
  return true;
}

bool IsMoved(OpCode op, size_t index) {
  // Of a Lookup the table's elements; input 0 says which.
  return op == OpCode::kConcat || index == (op == OpCode::kLookup ? 1 : 0);
}

bool MovedQuantization(OpCode op, const AttrStorage& attrs, const Quantization& input, int rank,
                       Quantization* output) {
  *output = input;
  if (input.per_tensor()) return true;
  if (op != OpCode::kTranspose || input.block != 0) return op == OpCode::kIdentity;
  const Ints& perm = attrs.as<TransposeAttrs>().perm;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t from = perm.size == 0 ? rank - 1 - axis : (axis < perm.size ? perm[axis] : -1);
    if (from == input.axis) {
      output->axis = axis;
      return true;
    }
  }
  return false;
}

Status CheckQuantized(const OpDef& op, const AttrStorage& attrs, Span<const TensorView> inputs,
                      Span<const TensorView> outputs, char* message) {
  bool quantized = false;
  for (const TensorView& view : inputs)
    quantized |= view.quantization != nullptr || DTypeBits(view.dtype) == 4;
  for (const TensorView& view : outputs)
    quantized |= view.quantization != nullptr || DTypeBits(view.dtype) == 4;
  const QuantizedUse use = QuantizedUseOf(op.code);
  const bool from = op.code == OpCode::kDequantize || op.code == OpCode::kRequantize;
  const bool to = op.code == OpCode::kQuantize || op.code == OpCode::kRequantize;
  if (from && inputs[0].quantization == nullptr) return Wrong(message, "its input has no quantisation");
  if (to && outputs[0].quantization == nullptr) return Wrong(message, "its output has no quantisation");
  if (op.code == OpCode::kDequantize && outputs[0].quantization != nullptr)
    return Wrong(message, "its output is quantised; that is what Requantize is for");
  if (use == QuantizedUse::kCodes) {
    SKIFF_RETURN_IF_ERROR(CheckDTypes(op, inputs, true, "input", message));
    return CheckCodes(op, inputs[0], outputs[0], message);
  }
  if (op.code == OpCode::kLookup) SKIFF_RETURN_IF_ERROR(CheckLookup(inputs, message));
  if (!quantized) return OkStatus();
  if (op.Is(kBodies) || op.code == OpCode::kCustom) return OkStatus();
  if (use == QuantizedUse::kNone)
    return Wrong(message, "%s takes no quantised tensors; a Dequantize must stand before it", op.name);
  const bool moves = use == QuantizedUse::kMoves;
  SKIFF_RETURN_IF_ERROR(CheckDTypes(op, inputs, moves, "input", message));
  SKIFF_RETURN_IF_ERROR(CheckDTypes(op, outputs, moves, "output", message));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (DTypeBits(outputs[i].dtype) == 4)
      return Wrong(message, "output %zu is %s, which is for constants", i, DTypeName(outputs[i].dtype));
  }
  return moves ? CheckMoved(op, attrs, inputs, outputs, message) : OkStatus();
}

}  // namespace skiff
