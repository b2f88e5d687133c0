// A point lies between two planes, two rows and two columns, so up to eight elements are gathered and summed
// up by their weights. Positions are f64, in which indices come out exact.
#include "import/onnx/volume_sample.h"

#include "import/onnx/nhwc.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Elementwise arithmetic on f64.
struct Maths {
  OnnxBuilder& b;

  ValueId Number(double value) const { return b.Scalar("number", DType::kF64, value); }
  ValueId Of(OpCode op, ValueId x, ValueId y) const { return b.Emit("step", op, {x, y}, ClampAttrs{}); }
  ValueId By(OpCode op, ValueId x, double y) const { return Of(op, x, Number(y)); }
  ValueId Least(ValueId x, ValueId y) const { return b.Emit("least", OpCode::kMin, {x, y}); }
  ValueId Most(ValueId x, ValueId y) const { return b.Emit("most", OpCode::kMax, {x, y}); }
  /// [0, extent - 1].
  ValueId Clip(ValueId x, ValueId extent) const {
    return Least(Most(x, Number(0)), By(OpCode::kSub, extent, 1));
  }
};

/// An index on one axis that takes part with a weight.
struct Tap {
  ValueId index = kNoValue;
  ValueId weight = kNoValue;
};

ValueId Reflected(const Maths& m, ValueId position, ValueId extent, bool align_corners) {
  const double low = align_corners ? 0.0 : -0.5;
  const ValueId span = align_corners ? m.Most(m.By(OpCode::kSub, extent, 1), m.Number(1)) : extent;
  const ValueId period = m.By(OpCode::kMul, span, 2);
  const ValueId distance = m.b.Emit("distance", OpCode::kAbs, {m.By(OpCode::kSub, position, low)});
  const ValueId turns = m.b.Emit("turns", OpCode::kFloor, {m.Of(OpCode::kDiv, distance, period)});
  const ValueId phase = m.Of(OpCode::kSub, distance, m.Of(OpCode::kMul, turns, period));
  return m.By(OpCode::kAdd, m.Least(phase, m.Of(OpCode::kSub, period, phase)), low);
}

/// The taps of the coordinates on one axis. Outside the volume a tap has the weight 0.
std::vector<Tap> TapsOf(const Maths& m, ValueId coordinate, ValueId extent, const GridSampleAttrs& attrs) {
  const ValueId moved = m.By(OpCode::kAdd, coordinate, 1);
  ValueId position = attrs.align_corners
                         ? m.Of(OpCode::kMul, m.By(OpCode::kDiv, moved, 2), m.By(OpCode::kSub, extent, 1))
                         : m.By(OpCode::kDiv, m.By(OpCode::kSub, m.Of(OpCode::kMul, moved, extent), 1), 2);
  if (attrs.padding == GridSamplePadding::kReflection) {
    position = Reflected(m, position, extent, attrs.align_corners);
  }
  if (attrs.padding != GridSamplePadding::kZeros) position = m.Clip(position, extent);
  std::vector<Tap> taps;
  if (attrs.mode == GridSampleMode::kNearest) {
    taps = {{m.b.Emit("nearest", OpCode::kRound, {position}), m.Number(1)}};
  } else {
    const ValueId below = m.b.Emit("below", OpCode::kFloor, {position});
    const ValueId fraction = m.Of(OpCode::kSub, position, below);
    taps = {{below, m.Of(OpCode::kSub, m.Number(1), fraction)}, {m.By(OpCode::kAdd, below, 1), fraction}};
  }
  for (Tap& tap : taps) {
    const ValueId clipped = m.Clip(tap.index, extent);
    const ValueId inside = m.b.Emit("inside", OpCode::kEqual, {clipped, tap.index});
    tap = {m.b.CastTo("index", clipped, DType::kI64),
           m.Of(OpCode::kMul, m.b.CastTo("inside_f64", inside, DType::kF64), tap.weight)};
  }
  return taps;
}

}  // namespace

ValueId VolumeSample(OnnxBuilder& b, ValueId x, ValueId grid, const GridSampleAttrs& attrs) {
  const Maths m{b};
  const DType dtype = b.DTypeOf(x);
  const ValueId volume = ToNdhwc(b, x);
  // Infinity is as far away as anything else.
  const ValueId near =
      b.Emit("near", OpCode::kClamp, {b.CastTo("grid_f64", grid, DType::kF64)}, ClampAttrs{-1e15f, 1e15f});
  std::vector<Tap> taps[3];
  for (int64_t axis = 0; axis < 3; ++axis) {
    const ValueId extent = Pick(b, "extent", ExtentsOf(b, x, 2 + axis, 3 + axis), 0, 0);
    const ValueId coordinate = EmitSlice(b, "coordinate", near, 4, 2 - axis, 3 - axis);
    taps[axis] = TapsOf(m, coordinate, b.CastTo("extent_f64", extent, DType::kF64), attrs);
  }
  const ValueId zero = b.Scalar("zero", dtype, 0);
  const bool whole = attrs.mode == GridSampleMode::kNearest;
  const DType weight_dtype = whole ? DType::kF64 : dtype;
  const ValueId no_weight = b.Scalar("no_weight", weight_dtype, 0);
  ValueId sum = kNoValue;
  for (const Tap& plane : taps[0]) {
    for (const Tap& row : taps[1]) {
      const ValueId of_row = m.Of(OpCode::kMul, plane.weight, row.weight);
      for (const Tap& column : taps[2]) {
        const ValueId place =
            b.Emit("place", OpCode::kConcat, {plane.index, row.index, column.index}, AxisAttrs{4});
        const ValueId element = b.Emit("element", OpCode::kGatherND, {volume, place}, GatherNDAttrs{1});
        const ValueId weight = b.CastTo("weight", m.Of(OpCode::kMul, of_row, column.weight), weight_dtype);
        // An element without weight must not turn an infinity into a NaN.
        const ValueId none = b.Emit("without_weight", OpCode::kEqual, {weight, no_weight});
        const ValueId weighted = whole ? element : EmitMul(b, "weighted", element, weight);
        const ValueId term = b.Emit("term", OpCode::kWhere, {none, zero, weighted});
        sum = sum == kNoValue ? term : EmitAdd(b, "sum", sum, term);
      }
    }
  }
  return sum;
}

}  // namespace skiff
