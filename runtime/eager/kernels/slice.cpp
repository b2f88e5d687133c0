// Slice and Pad.
#include "eager/kernels.h"
#include "eager/kernels/copy.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

/// The values of a shape input gave other extents when the shapes were inferred than they give now.
Status ChangedValues(const KernelArgs& args) {
  return Fail(StatusCode::kInvalidArgument, "%s: the values that decided the output's shape changed since",
              FindOp(args.op)->name);
}

/// One axis of a Pad.
struct PadAxis {
  int64_t begin = 0;  ///< Output position of the first element that is kept.
  int64_t first = 0;  ///< Input position of it: what is cropped at the beginning.
  int64_t kept = 0;   ///< Elements that stay.
  int64_t output = 0;

  /// The kept element, counted from 0, that an output position repeats.
  int64_t Source(PadMode mode, int64_t out) const {
    const int64_t i = out - begin;
    if (i >= 0 && i < kept) return i;
    if (mode == PadMode::kEdge) return i < 0 ? 0 : kept - 1;
    const int64_t period = mode == PadMode::kWrap ? kept : 2 * (kept - 1);
    if (period == 0) return 0;
    const int64_t phase = ((i % period) + period) % period;
    return phase < kept ? phase : period - phase;
  }
};

Status ResolvePadAxes(const KernelArgs& args, PadAxis (&axes)[kMaxRank]) {
  const Shape& in = args.inputs[0].shape;
  const Shape& out = args.outputs[0].shape;
  for (int axis = 0; axis < in.rank(); ++axis) axes[axis] = {0, 0, in[axis], out[axis]};
  const int64_t count = args.inputs[1].shape.elements() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int axis =
        args.Has(3) ? NormalizeAxis(IntegerAt(args.inputs[3], i), in.rank()) : static_cast<int>(i);
    if (axis < 0 || axis >= in.rank()) return ChangedValues(args);
    const int64_t begin = IntegerAt(args.inputs[1], i);
    const int64_t end = IntegerAt(args.inputs[1], count + i);
    int64_t total = 0;
    if (__builtin_add_overflow(in[axis], begin, &total) || __builtin_add_overflow(total, end, &total) ||
        total != out[axis]) {
      return ChangedValues(args);
    }
    PadAxis& pad = axes[axis];
    pad.begin = begin > 0 ? begin : 0;
    pad.first = begin < 0 ? -begin : 0;
    // Crops that overlap leave nothing.
    pad.kept = in[axis] - pad.first + (end < 0 ? end : 0);
    if (pad.kept < 0) pad.kept = 0;
  }
  for (int axis = 0; axis < in.rank(); ++axis) {
    const bool grows = axes[axis].kept < axes[axis].output;
    const bool impossible = axes[axis].kept == 0 && args.As<PadAttrs>().mode != PadMode::kConstant;
    if (grows && impossible) return ChangedValues(args);
  }
  return OkStatus();
}

template <class T>
void PadConstant(const KernelArgs& args, const PadAxis (&axes)[kMaxRank], T* out) {
  const Shape& in = args.inputs[0].shape;
  const Shape& shape = args.outputs[0].shape;
  FillRun(out, shape.elements(), args.Has(2) ? *args.inputs[2].as<const T>() : T(0));
  const AxisStrides from = DenseStrides(in);
  const AxisStrides to = DenseStrides(shape);
  StridedWalk<2> walk;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const auto a = static_cast<size_t>(axis);
    walk.Append(axes[axis].kept, {to[a], from[a]});
    from_offset += axes[axis].first * from[a];
    to_offset += axes[axis].begin * to[a];
  }
  if (!walk.empty()) CopyWalk(walk, args.inputs[0].as<const T>() + from_offset, out + to_offset);
}

template <class T>
void PadRepeated(const KernelArgs& args, PadMode mode, const PadAxis (&axes)[kMaxRank], T* out) {
  const TensorView& x = args.inputs[0];
  const Shape& shape = args.outputs[0].shape;
  const AxisStrides strides = DenseStrides(x.shape);
  const int inner = shape.rank() - 1;
  const PadAxis& last = axes[inner];
  int64_t index[kMaxRank] = {};
  const int64_t rows = shape.ElementsBetween(0, inner);
  for (int64_t row = 0; row < rows; ++row, out += last.output) {
    const T* from = x.as<const T>() + last.first;
    for (int axis = 0; axis < inner; ++axis) {
      from += (axes[axis].first + axes[axis].Source(mode, index[axis])) * strides[static_cast<size_t>(axis)];
    }
    for (int64_t i = 0; i < last.begin; ++i) out[i] = from[last.Source(mode, i)];
    CopyBytes(out + last.begin, from, last.kept * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = last.begin + last.kept; i < last.output; ++i) out[i] = from[last.Source(mode, i)];
    for (int axis = inner - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
}

}  // namespace

Status KernelSlice(const KernelArgs& args) {
  const Shape& in = args.inputs[0].shape;
  const Shape& out = args.outputs[0].shape;
  SliceRange ranges[kMaxRank];
  for (int axis = 0; axis < in.rank(); ++axis) ranges[axis] = {0, 1, in[axis]};
  for (int64_t i = 0; i < args.inputs[1].shape.elements(); ++i) {
    const int axis =
        args.Has(3) ? NormalizeAxis(IntegerAt(args.inputs[3], i), in.rank()) : static_cast<int>(i);
    if (axis < 0 || axis >= in.rank()) return ChangedValues(args);
    ranges[axis] = ResolveSlice(in[axis], IntegerAt(args.inputs[1], i), IntegerAt(args.inputs[2], i),
                                args.Has(4) ? IntegerAt(args.inputs[4], i) : 1);
  }
  const AxisStrides from = DenseStrides(in);
  const AxisStrides to = DenseStrides(out);
  StridedWalk<2> walk;
  int64_t offset = 0;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const auto a = static_cast<size_t>(axis);
    if (ranges[axis].count != out[axis]) return ChangedValues(args);
    // The step of a single element is not used and may be too large to multiply.
    const int64_t step = ranges[axis].count > 1 ? ranges[axis].step : 1;
    walk.Append(out[axis], {to[a], from[a] * step});
    offset += ranges[axis].start * from[a];
  }
  if (walk.empty()) return OkStatus();
  return VisitSize(args.op, args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    CopyWalk(walk, args.inputs[0].as<const T>() + offset, args.outputs[0].as<T>());
    return OkStatus();
  });
}

Status KernelPad(const KernelArgs& args) {
  const PadMode mode = args.As<PadAttrs>().mode;
  PadAxis axes[kMaxRank];
  SKIFF_RETURN_IF_ERROR(ResolvePadAxes(args, axes));
  return VisitSize(args.op, args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    // Without axes there is nothing to repeat.
    if (mode == PadMode::kConstant || args.outputs[0].shape.rank() == 0) {
      PadConstant(args, axes, args.outputs[0].as<T>());
    } else if (args.outputs[0].shape.elements() > 0) {
      PadRepeated(args, mode, axes, args.outputs[0].as<T>());
    }
    return OkStatus();
  });
}

}  // namespace skiff
