/// Short forms of the nodes that compositions are made of.
#pragma once

#include <vector>

#include "import/node_builder.h"
#include "ops/op_codes.h"

namespace skiff {

inline ValueId EmitAdd(NodeBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kAdd, {x, y}, ClampAttrs{});
}
inline ValueId EmitSub(NodeBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kSub, {x, y}, ClampAttrs{});
}
inline ValueId EmitMul(NodeBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kMul, {x, y}, ClampAttrs{});
}
inline ValueId EmitDiv(NodeBuilder& b, const char* suffix, ValueId x, ValueId y) {
  return b.Emit(suffix, OpCode::kDiv, {x, y}, ClampAttrs{});
}

/// Extents [start, end) of x as a vector; both count from the front.
ValueId EmitExtents(NodeBuilder& b, const char* suffix, ValueId x, int start, int end);
/// One extent as a scalar.
ValueId EmitExtent(NodeBuilder& b, const char* suffix, ValueId x, int axis);
/// 0, 1, ... limit - 1, for an integer scalar.
ValueId EmitCount(NodeBuilder& b, const char* suffix, ValueId limit);
/// In the target, 0 copies the extent at its place and one -1 is what remains.
ValueId EmitReshape(NodeBuilder& b, const char* suffix, ValueId x, const std::vector<int64_t>& target);
/// x, whose extent along `axis` is that of `like` along `of_like`: where that is not sure, a Reshape that
/// refuses all other sizes. Both are counted from the front.
ValueId EmitSameExtent(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, ValueId like,
                       int64_t of_like);
/// x with extents of its own where `factor` is repeated along x, not x along `factor`: the Reshapes refuse
/// the sizes at which that would be otherwise. As the specification has it where one operand alone is
/// broadcast.
ValueId EmitNotGrowing(NodeBuilder& b, const char* suffix, ValueId x, ValueId factor);
ValueId EmitUnsqueeze(NodeBuilder& b, const char* suffix, ValueId x, const Ints& axes);
/// x itself where the permutation changes nothing.
ValueId EmitTranspose(NodeBuilder& b, const char* suffix, ValueId x, const Ints& perm);
/// Elements start, start + step, ... before `end` along one axis.
ValueId EmitSlice(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t end,
                  int64_t step = 1);
/// An input that is one number, as a scalar whatever its rank.
ValueId EmitScalarInput(NodeBuilder& b, const char* suffix, size_t input);

/// Extents [start, end) of a value's shape, computed where they are not constant.
ValueId ExtentsOf(NodeBuilder& b, ValueId x, int64_t start, int64_t end);
/// The value under a shape that is put together from vectors of extents.
ValueId ReshapeTo(NodeBuilder& b, const char* suffix, ValueId x, std::vector<ValueId> extents,
                  const ReshapeAttrs& attrs = {});
/// The product of the extents [start, end) as a vector of one.
ValueId ProductOf(NodeBuilder& b, ValueId x, int64_t start, int64_t end);
/// x under vectors of extents that are its whole shape: a Reshape could not tell a -1 where there are no
/// elements, and a 0 is one of the extents.
ValueId ReshapeToExtents(NodeBuilder& b, const char* suffix, ValueId x, std::vector<ValueId> extents);
/// Pads (or, where negative, crops) one axis with zeros; quantised values keep their quantisation.
ValueId PadAxis(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t begin, int64_t end);
/// The same by a vector (begin, end), which may be computed.
ValueId PadAxis(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, ValueId pads);
/// Elements [start, extent - behind) of one axis, `step` apart.
ValueId SliceAxis(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t behind,
                  int64_t step = 1);
/// One element of an axis, which goes away.
ValueId Pick(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t index);

/// `axis` counted from the front. Throws where it lies outside the rank.
int AxisOf(NodeBuilder& b, const char* name, int64_t axis, int rank);

}  // namespace skiff
