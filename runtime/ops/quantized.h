/// Which operators take quantised operands, and what their types must then be.
#pragma once

#include "ops/op.h"
#include "skiff/delegate.h"
#include "skiff/quantization.h"

namespace skiff {

/// The column of ops/quantized.def.
enum class QuantizedUse : uint8_t { kNone, kMoves, kCodes, kProducts, kLinear, kReal };
QuantizedUse QuantizedUseOf(OpCode op);

/// Whether all of the zero points are this one.
bool HasZeroPoint(const Quantization& quantization, int32_t zero_point);

/// Whether an operand is quantised.
bool TouchesQuantized(const NodeTypes& node);
/// The same of a node that does more than to move integers, or to give them another meaning.
bool ComputesQuantized(const NodeTypes& node);

/// What shape rules see of a tensor: a quantised one stands for real numbers. The outputs' rules say the same
/// of results, and their stored dtype is whatever their quantisation is of.
inline DType RuleDType(DType dtype, const Quantization* quantization) {
  return quantization == nullptr ? dtype : DType::kF32;
}

/// Whether input `index` of an operator that moves elements is what it moves; others are indices and extents.
bool IsMoved(OpCode op, size_t index);

/// An input's quantisation as it is of an output of an operator that moves elements: the axis of its scales
/// follows a Transpose. False where the output cannot have it.
bool MovedQuantization(OpCode op, const AttrStorage& attrs, const Quantization& input, int rank,
                       Quantization* output);

/// The types of one node, where an operand is quantised; views need no data. kInvalidArgument with what is
/// wrong in `message` (of InferContext<int64_t>::kMessageBytes).
Status CheckQuantized(const OpDef& op, const AttrStorage& attrs, Span<const TensorView> inputs,
                      Span<const TensorView> outputs, char* message);

}  // namespace skiff
