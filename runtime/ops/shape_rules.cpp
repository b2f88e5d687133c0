// What shape rules and kernels share: axes, slices and pads in numbers.
#include "ops/shape_rules.h"

#include <limits>

#include "ops/extent_math.h"
#include "ops/op_codes.h"

namespace skiff {

AxisPads ResolvePads(AutoPad auto_pad, int64_t extent, int64_t kernel, int64_t stride, int64_t dilation,
                     int64_t begin, int64_t end) {
  if (auto_pad == AutoPad::kExplicit) return {begin, end};
  if (auto_pad == AutoPad::kValid) return {0, 0};
  const int64_t window = (kernel - 1) * dilation + 1;
  const int64_t total = MaxExtent(0, window - extent + (CeilDivide(extent, stride) - 1) * stride);
  const int64_t small = total / 2;
  return auto_pad == AutoPad::kSameUpper ? AxisPads{small, total - small} : AxisPads{total - small, small};
}

bool IsPointwise(const Conv2dAttrs& attrs, const Shape& weights) {
  if (weights[1] != 1 || weights[2] != 1 || attrs.strides[0] != 1 || attrs.strides[1] != 1) return false;
  if (attrs.auto_pad != AutoPad::kExplicit) return true;
  for (const int64_t pad : attrs.pads) {
    if (pad != 0) return false;
  }
  return true;
}

SliceRange ResolveSlice(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return {0, 1, 0};
  // The most negative step cannot be negated; no extent tells it from the next one.
  if (step == std::numeric_limits<int64_t>::min()) ++step;
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? extent : extent - 1;
  const auto clamp = [&](int64_t position) {
    if (position < 0) position += extent;
    return position < low ? low : (position > high ? high : position);
  };
  start = clamp(start);
  end = clamp(end);
  const int64_t distance = step > 0 ? end - start : start - end;
  const int64_t stride = step > 0 ? step : -step;
  return {distance > 0 ? start : 0, step, distance > 0 ? (distance - 1) / stride + 1 : 0};
}

Status CheckLengths(OpCode op, const TensorView& lengths, int64_t steps) {
  for (int64_t i = 0; i < lengths.shape.elements(); ++i) {
    const int64_t length =
        lengths.dtype == DType::kI32 ? lengths.as<const int32_t>()[i] : lengths.as<const int64_t>()[i];
    if (length < 0 || length > steps) {
      return Fail(StatusCode::kInvalidArgument, "%s: length %lld of sequence %lld is outside [0, %lld]",
                  OpName(op), static_cast<long long>(length), static_cast<long long>(i),
                  static_cast<long long>(steps));
    }
  }
  return OkStatus();
}

int GatesOf(OpCode op) { return op == OpCode::kLstm ? 4 : op == OpCode::kGru ? 3 : 1; }

int NormalizeAxis(int64_t axis, int rank) {
  if (axis < -int64_t{rank} || axis >= rank) return -1;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t RowOfCodes(const FakeQuantizeAttrs& attrs, const Shape& x) {
  if (attrs.block > 0) return attrs.block;
  return x.ElementsBetween(x.rank() == 0 ? 0 : NormalizeAxis(attrs.axis, x.rank()), x.rank());
}

bool AxesMask(const Ints& axes, int rank, uint32_t* mask) {
  *mask = 0;
  if (axes.size < 0 || axes.size > kMaxRank) return false;
  for (int64_t axis : axes) {
    const int index = NormalizeAxis(axis, rank);
    if (index < 0 || ((*mask >> index) & 1u) != 0) return false;
    *mask |= 1u << index;
  }
  return true;
}

bool ReducedAxes(const ReduceAttrs& attrs, int rank, uint32_t* mask) {
  if (!AxesMask(attrs.axes, rank, mask)) return false;
  if (attrs.axes.size == 0 && !attrs.noop_when_empty) *mask = (1u << rank) - 1;
  return true;
}

}  // namespace skiff
