// A volume [D, H, W] is an image of D * H rows. A point lies between two planes and two rows of each, so up
// to four rows of that image are sampled, each exactly on a row, and summed up by their weights. Positions
// are f64, in which rows come out exact.
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

/// A position on one axis that takes part with a weight.
struct Tap {
  ValueId position = kNoValue;
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
    const ValueId clipped = m.Clip(tap.position, extent);
    const ValueId inside = m.b.Emit("inside", OpCode::kEqual, {clipped, tap.position});
    tap = {clipped, m.Of(OpCode::kMul, m.b.CastTo("inside_f64", inside, DType::kF64), tap.weight)};
  }
  return taps;
}

}  // namespace

ValueId VolumeSample(OnnxBuilder& b, ValueId x, ValueId grid, const GridSampleAttrs& attrs) {
  const Maths m{b};
  const DType dtype = b.DTypeOf(x);
  const ValueId wide = b.CastTo("grid_f64", grid, DType::kF64);
  const auto coordinate = [&](int64_t i) { return Pick(b, "coordinate", wide, 4, i); };
  const auto extent = [&](int64_t axis) {
    return b.CastTo("extent_f64", Pick(b, "extent", ExtentsOf(b, x, axis, axis + 1), 0, 0), DType::kF64);
  };
  const ValueId depth = extent(2);
  const ValueId height = extent(3);
  const ValueId rows = m.Of(OpCode::kMul, depth, height);
  const ValueId volume = ToNdhwc(b, x);
  const ValueId image =
      ReshapeTo(b, "rows", volume,
                {ExtentsOf(b, volume, 0, 1), b.ConstantInts("all_rows", {-1}), ExtentsOf(b, volume, 3, 5)});
  const ValueId last = ExtentsOf(b, grid, 3, 4);
  const auto by_row = [&](const char* suffix, ValueId points, int64_t depth_of_last) {
    return ReshapeTo(b, suffix, points,
                     {ExtentsOf(b, grid, 0, 1), b.ConstantInts("all_rows", {-1}), last,
                      b.ConstantInts("parts", {depth_of_last})});
  };
  const AxesAttrs behind{{4}};
  const ValueId column = b.Emit("column", OpCode::kUnsqueeze, {coordinate(0)}, behind);
  const std::vector<Tap> planes = TapsOf(m, coordinate(2), depth, attrs);
  const std::vector<Tap> lines = TapsOf(m, coordinate(1), height, attrs);
  ValueId sum = kNoValue;
  for (const Tap& plane : planes) {
    for (const Tap& line : lines) {
      const ValueId row = m.Of(OpCode::kAdd, m.Of(OpCode::kMul, plane.position, height), line.position);
      const ValueId doubled = m.By(OpCode::kMul, row, 2);
      // The inverse of what GridSample2d makes of the coordinate.
      const ValueId part = attrs.align_corners
                               ? m.Of(OpCode::kDiv, doubled, m.Most(m.By(OpCode::kSub, rows, 1), m.Number(1)))
                               : m.Of(OpCode::kDiv, m.By(OpCode::kAdd, doubled, 1), rows);
      const ValueId at = b.Emit("row", OpCode::kUnsqueeze, {m.By(OpCode::kSub, part, 1)}, behind);
      const ValueId points =
          by_row("points", b.Emit("pairs", OpCode::kConcat, {column, at}, AxisAttrs{4}), 2);
      const ValueId sampled = b.Emit("sampled", OpCode::kGridSample2d, {image, points}, attrs);
      const ValueId weight =
          b.CastTo("weight", by_row("weights", m.Of(OpCode::kMul, plane.weight, line.weight), 1), dtype);
      const ValueId zero = b.Scalar("zero", dtype, 0);
      const ValueId weighted = b.Emit("weighted", OpCode::kMul, {sampled, weight}, ClampAttrs{});
      // A row without weight must not turn an infinity into a NaN.
      const ValueId none = b.Emit("without_weight", OpCode::kEqual, {weight, zero});
      const ValueId term = b.Emit("term", OpCode::kWhere, {none, zero, weighted});
      sum = sum == kNoValue ? term : b.Emit("sum", OpCode::kAdd, {sum, term}, ClampAttrs{});
    }
  }
  return ReshapeTo(b, "sampled_volume", sum, {ExtentsOf(b, grid, 0, 4), ExtentsOf(b, x, 1, 2)});
}

}  // namespace skiff
