/// Short forms of the nodes that compositions are made of.
#pragma once

#include <vector>

#include "import/onnx/builder.h"

namespace skiff {

inline ValueId EmitAdd(OnnxBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kAdd, {x, y}, ClampAttrs{});
}
inline ValueId EmitSub(OnnxBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kSub, {x, y}, ClampAttrs{});
}
inline ValueId EmitMul(OnnxBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kMul, {x, y}, ClampAttrs{});
}
inline ValueId EmitDiv(OnnxBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kDiv, {x, y}, ClampAttrs{});
}

/// Extents [start, end) of x as a vector; both count from the front.
ValueId EmitExtents(OnnxBuilder& b, const char* suffix, ValueId x, int start, int end);
/// One extent as a scalar.
ValueId EmitExtent(OnnxBuilder& b, const char* suffix, ValueId x, int axis);
/// 0, 1, ... limit - 1, for an integer scalar.
ValueId EmitCount(OnnxBuilder& b, const char* suffix, ValueId limit);
/// In the target, 0 copies the extent at its place and one -1 is what remains.
ValueId EmitReshape(OnnxBuilder& b, const char* suffix, ValueId x, const std::vector<int64_t>& target);
/// x, whose extent along `axis` is that of `like` along `of_like`: where that is not sure, a Reshape that
/// refuses all other sizes. Both are counted from the front.
ValueId EmitSameExtent(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, ValueId like,
                       int64_t of_like);
/// x with extents of its own where `factor` is repeated along x, not x along `factor`: the Reshapes refuse
/// the sizes at which that would be otherwise. As the specification has it where one operand alone is
/// broadcast.
ValueId EmitNotGrowing(OnnxBuilder& b, const char* suffix, ValueId x, ValueId factor);
ValueId EmitUnsqueeze(OnnxBuilder& b, const char* suffix, ValueId x, const Ints& axes);
/// x itself where the permutation changes nothing.
ValueId EmitTranspose(OnnxBuilder& b, const char* suffix, ValueId x, const Ints& perm);
/// Elements start, start + step, ... before `end` along one axis.
ValueId EmitSlice(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t end,
                  int64_t step = 1);
/// An input that is one number, as a scalar whatever its rank.
ValueId EmitScalarInput(OnnxBuilder& b, const char* suffix, size_t input);

/// The dtype that an attribute holding an ONNX type number names.
DType TypeAttribute(OnnxBuilder& b, const char* name, DType fallback);
/// `axis` counted from the front. Throws where it lies outside the rank.
int AxisOf(OnnxBuilder& b, const char* name, int64_t axis, int rank);

}  // namespace skiff
