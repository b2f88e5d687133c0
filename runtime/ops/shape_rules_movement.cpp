// Shape rules of operators that copy elements to other places.
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {
namespace {

template <class D>
Status AxisError(const InferContext<D>& context, int64_t axis, int rank) {
  return context.Error("axis %lld is outside an input of rank %d", static_cast<long long>(axis), rank);
}

}  // namespace

template <class D>
Status InferConcat(InferContext<D>& context) {
  const int64_t requested = context.template As<AxisAttrs>().axis;
  const InferInput<D>& first = context.inputs[0];
  const int axis = NormalizeAxis(requested, first.rank);
  if (axis < 0) return AxisError(context, requested, first.rank);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = first.dtype;
  out.rank = first.rank;
  for (int i = 0; i < first.rank; ++i) out.extents[i] = first.extents[i];
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const InferInput<D>& input = context.inputs[i];
    if (!input.present || input.dtype != first.dtype || input.rank != first.rank) {
      return context.Error("input %zu must have dtype %s and rank %d like input 0, not %s and %d", i,
                           DTypeName(first.dtype), first.rank, DTypeName(input.dtype), input.rank);
    }
    for (int j = 0; j < first.rank; ++j) {
      if (j != axis && !SameExtent(input.extents[j], first.extents[j])) {
        return context.Error("input %zu has extent %lld on axis %d, input 0 has %lld", i,
                             static_cast<long long>(KnownValue(input.extents[j])), j,
                             static_cast<long long>(KnownValue(first.extents[j])));
      }
    }
    if (!CheckedAdd(D(out.extents[axis]), input.extents[axis], &out.extents[axis])) {
      return context.Error("the sum of the extents does not fit in 63 bits");
    }
  }
  return OkStatus();
}

/// Inputs: x, sizes (or absent: `parts` pieces, all ceil(extent / parts) long but the last).
template <class D>
Status InferSplit(InferContext<D>& context) {
  const auto& attrs = context.template As<SplitAttrs>();
  const InferInput<D>& x = context.inputs[0];
  const int axis = NormalizeAxis(attrs.axis, x.rank);
  if (axis < 0) return AxisError(context, attrs.axis, x.rank);
  const auto count = static_cast<int64_t>(context.outputs.size());
  ShapeValues<D> sizes;
  const bool sized = context.Has(1);
  if (sized) {
    SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the sizes", &sizes));
    if (sizes.count != count)
      return context.Error("there are %lld sizes for %lld outputs", static_cast<long long>(sizes.count),
                           static_cast<long long>(count));
  } else if (attrs.parts != count || count <= 0) {
    return context.Error("parts is %lld, but there are %lld outputs", static_cast<long long>(attrs.parts),
                         static_cast<long long>(count));
  }
  const D extent = x.extents[axis];
  const D piece = sized ? D(0) : CeilDivide(extent, D(count));
  D sum(0);
  for (int64_t i = 0; i < count; ++i) {
    InferOutput<D>& out = context.outputs[static_cast<size_t>(i)];
    out.dtype = x.dtype;
    out.rank = x.rank;
    for (int j = 0; j < x.rank; ++j) out.extents[j] = x.extents[j];
    D& size = out.extents[axis];
    if (sizes.data != nullptr) {
      size = sizes[i];
    } else {
      size = i + 1 < count ? piece : extent + sum * D(-1);
    }
    SKIFF_RETURN_IF_ERROR(CheckExtent(context, size, axis));
    // Whatever a size is of which nothing is known, it is one of a part.
    if (sizes.data != nullptr && !IsNonNegative(size)) size = MinExtent(MaxExtent(size, D(0)), extent);
    if (!CheckedAdd(D(sum), size, &sum)) return context.Error("the sum of the sizes does not fit in 63 bits");
  }
  if (!SameExtent(sum, extent)) {
    return context.Error("the sizes add up to %lld, axis %d has extent %lld",
                         static_cast<long long>(KnownValue(sum)), axis,
                         static_cast<long long>(KnownValue(extent)));
  }
  return OkStatus();
}

template <class D>
Status InferGather(InferContext<D>& context) {
  const int64_t requested = context.template As<AxisAttrs>().axis;
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& indices = context.inputs[1];
  const int axis = NormalizeAxis(requested, x.rank);
  if (axis < 0) return AxisError(context, requested, x.rank);
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) {
    return context.Error("the indices must be i64 or i32, not %s", DTypeName(indices.dtype));
  }
  if (x.rank - 1 + indices.rank > kMaxRank) {
    return context.Error("an output of rank %d is not possible, the most is %d", x.rank - 1 + indices.rank,
                         kMaxRank);
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 0;
  for (int i = 0; i < axis; ++i) out.extents[out.rank++] = x.extents[i];
  for (int i = 0; i < indices.rank; ++i) out.extents[out.rank++] = indices.extents[i];
  for (int i = axis + 1; i < x.rank; ++i) out.extents[out.rank++] = x.extents[i];
  return OkStatus();
}

constexpr int64_t kMaxPad = int64_t{1} << 46;

/// Inputs: x, pads (all begins, then all ends), the constant (or absent), the axes (or absent: all). A
/// negative pad crops; cropping comes before padding.
template <class D>
Status InferPad(InferContext<D>& context) {
  const PadMode mode = context.template As<PadAttrs>().mode;
  const InferInput<D>& x = context.inputs[0];
  if (mode < PadMode::kConstant || mode > PadMode::kWrap) return context.Error("the mode is unknown");
  ShapeValues<D> pads;
  ShapeValues<D> axes;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the pads", &pads));
  if (context.Has(3)) SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 3, "the axes", &axes));
  const int64_t count = context.Has(3) ? axes.count : x.rank;
  if (count > x.rank || pads.count != 2 * count) {
    return context.Error("%lld axes of an input of rank %d need twice as many pads, not %lld",
                         static_cast<long long>(count), x.rank, static_cast<long long>(pads.count));
  }
  if (context.Has(2) && (context.inputs[2].dtype != x.dtype || context.inputs[2].rank > 1)) {
    return context.Error("the constant must be one value of dtype %s", DTypeName(x.dtype));
  }
  if (context.Has(2) && context.inputs[2].rank == 1 && !SameExtent(context.inputs[2].extents[0], D(1))) {
    return context.Error("the constant must be one value, not a longer list");
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) out.extents[i] = x.extents[i];
  uint32_t seen = 0;
  for (int64_t i = 0; i < pads.count / 2; ++i) {
    int axis = static_cast<int>(i);
    if (axes.data != nullptr) {
      axis = IsKnown(axes[i]) ? NormalizeAxis(KnownValue(axes[i]), x.rank) : -1;
      if (axis < 0 || ((seen >> axis) & 1u) != 0) {
        return context.Error("an axis is named twice or lies outside an input of rank %d", x.rank);
      }
    }
    seen |= 1u << axis;
    const D& begin = pads[i];
    const D& end = pads[count + i];
    for (const D& pad : {begin, end}) {
      if (IsKnown(pad) && (KnownValue(pad) > kMaxPad || KnownValue(pad) < -kMaxPad)) {
        return context.Error("a pad of axis %d is beyond 2^46", axis);
      }
    }
    D cropped;
    if (!CheckedAdd(x.extents[axis], MinExtent(begin, D(0)), &cropped) ||
        !CheckedAdd(D(cropped), MinExtent(end, D(0)), &cropped) ||
        !CheckedAdd(x.extents[axis], begin, &out.extents[axis]) ||
        !CheckedAdd(D(out.extents[axis]), end, &out.extents[axis])) {
      return context.Error("the pads of axis %d do not fit in 63 bits", axis);
    }
    SKIFF_RETURN_IF_ERROR(CheckExtent(context, out.extents[axis], axis));
    const bool grows = !(IsKnown(begin) && KnownValue(begin) <= 0) || !(IsKnown(end) && KnownValue(end) <= 0);
    if (mode != PadMode::kConstant && grows && IsKnown(cropped) && KnownValue(cropped) <= 0) {
      return context.Error("axis %d has no element left to %s", axis,
                           EnumNames<PadMode>::kNames[static_cast<int>(mode)]);
    }
  }
  return OkStatus();
}

/// Inputs: x, shape. Broadcasts in both directions: a 1 in the shape keeps the input's extent.
template <class D>
Status InferExpand(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  ShapeValues<D> shape;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the shape", &shape));
  if (shape.count > kMaxRank)
    return context.Error("the shape has %lld axes, at most %d are possible",
                         static_cast<long long>(shape.count), kMaxRank);
  const int target_rank = static_cast<int>(shape.count);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = target_rank > x.rank ? target_rank : x.rank;
  for (int i = 1; i <= out.rank; ++i) {
    const D have = i <= x.rank ? x.extents[x.rank - i] : D(1);
    const D want = i <= target_rank ? shape[target_rank - i] : D(1);
    if (!IsNonNegative(want)) return context.Error("the shape has a negative extent");
    if (!CanBroadcast(have, want)) {
      return context.Error("extent %lld cannot be expanded to %lld", static_cast<long long>(KnownValue(have)),
                           static_cast<long long>(KnownValue(want)));
    }
    out.extents[out.rank - i] =
        IsValue(have, 1) ? want : (IsValue(want, 1) ? have : BroadcastExtent(have, want));
  }
  return OkStatus();
}

/// Inputs: x, repeats (one for each axis).
template <class D>
Status InferTile(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  ShapeValues<D> repeats;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the repeats", &repeats));
  if (repeats.count != x.rank)
    return context.Error("%lld repeats were given for %d axes", static_cast<long long>(repeats.count),
                         x.rank);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) {
    if (!IsNonNegative(repeats[i])) return context.Error("axis %d has a negative repeat", i);
    if (!CheckedMultiply(x.extents[i], repeats[i], &out.extents[i])) {
      return context.Error("the repeated extent of axis %d does not fit in 63 bits", i);
    }
  }
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferConcat);
SKIFF_INSTANTIATE_RULE(InferSplit);
SKIFF_INSTANTIATE_RULE(InferGather);
SKIFF_INSTANTIATE_RULE(InferPad);
SKIFF_INSTANTIATE_RULE(InferExpand);
SKIFF_INSTANTIATE_RULE(InferTile);

}  // namespace skiff
