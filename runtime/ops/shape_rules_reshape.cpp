// Shape rules of operators that only rename or reorder axes.
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {
namespace {

/// Counted from the end where negative, then clamped to [0, rank].
int64_t ClampToRank(int64_t position, int rank) {
  if (position < 0) position += rank;
  return position < 0 ? 0 : (position > rank ? rank : position);
}

template <class D>
Status ProductError(const InferContext<D>& context) {
  return context.Error("the product of the extents does not fit in 63 bits");
}

/// Whether an open number of a target means an extent even where it turns out to be 0, which would copy the
/// input's: then that is 0 as well. A -1 in the target would still tell a copy from an equal extent, unless
/// the extents are always equal.
template <class D>
bool ZeroIsNoCopy(const InferInput<D>& x, int axis, const D& number, bool derives) {
  if (IsKnown(number) || IsPositive(number)) return true;
  if (axis >= x.rank || IsKnown(x.extents[axis])) return false;
  if (derives) return number == x.extents[axis];
  const D factor = FloorDivide(number, x.extents[axis]);
  return factor * x.extents[axis] == number && IsPositive(factor);
}

}  // namespace

template <class D>
Status InferShape(InferContext<D>& context) {
  const auto& attrs = context.template As<ShapeAttrs>();
  const int rank = context.inputs[0].rank;
  const int64_t start = ClampToRank(attrs.start, rank);
  const int64_t end = ClampToRank(attrs.end, rank);
  context.outputs[0].dtype = DType::kI64;
  context.outputs[0].rank = 1;
  context.outputs[0].extents[0] = D(end > start ? end - start : 0);
  return OkStatus();
}

/// Inputs: x, target. Copied extents cancel out before the elements are counted, so that -1 beside them is
/// defined for an empty input too.
template <class D>
Status InferReshape(InferContext<D>& context) {
  const auto& attrs = context.template As<ReshapeAttrs>();
  const InferInput<D>& x = context.inputs[0];
  ShapeValues<D> target;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the target shape", &target));
  if (target.count > kMaxRank)
    return context.Error("the target has %lld axes, at most %d are possible",
                         static_cast<long long>(target.count), kMaxRank);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = static_cast<int>(target.count);
  bool derives = false;
  for (int i = 0; i < out.rank; ++i) derives = derives || IsValue(target[i], -1);
  int inferred = -1;
  bool copied[kMaxRank] = {};
  D wanted(1);
  for (int i = 0; i < out.rank; ++i) {
    if (IsValue(target[i], -1)) {
      if (inferred >= 0) return context.Error("the target has more than one -1");
      inferred = i;
      continue;
    }
    if (IsValue(target[i], 0) && !attrs.allow_zero) {
      if (i >= x.rank)
        return context.Error("target axis %d copies an extent, but the input has rank %d", i, x.rank);
      copied[i] = true;
      out.extents[i] = x.extents[i];
      continue;
    }
    if (!IsNonNegative(target[i])) {
      return context.Error("target axis %d is %lld; extents, 0 and one -1 are possible", i,
                           static_cast<long long>(KnownValue(target[i])));
    }
    if (!attrs.allow_zero && !ZeroIsNoCopy(x, i, target[i], derives)) {
      return context.Error("target axis %d may turn out to be 0, which copies the input's extent", i);
    }
    out.extents[i] = target[i];
    if (!CheckedMultiply(D(wanted), target[i], &wanted)) return ProductError(context);
  }
  D available(1);
  bool nothing = false;  // Whatever the other axes are.
  for (int i = 0; i < x.rank; ++i) {
    nothing = nothing || (copied[i] && IsValue(x.extents[i], 0));
    if (!copied[i] && !CheckedMultiply(D(available), x.extents[i], &available)) return ProductError(context);
  }
  if (inferred >= 0) {
    if (IsValue(wanted, 0)) return context.Error("-1 cannot be derived beside an extent of 0");
    out.extents[inferred] = FloorDivide(available, wanted);
    const D quotient = out.extents[inferred];
    if (!CheckedMultiply(quotient, D(wanted), &wanted)) return ProductError(context);
  }
  if (!nothing && !SameExtent(available, wanted)) {
    return context.Error("%lld elements cannot take a shape of %lld (copied axes left out)",
                         static_cast<long long>(KnownValue(available)),
                         static_cast<long long>(KnownValue(wanted)));
  }
  return OkStatus();
}

template <class D>
Status InferFlatten(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  const int64_t axis = context.template As<AxisAttrs>().axis;
  if (axis < -int64_t{x.rank} || axis > x.rank) {
    return context.Error("axis %lld is outside an input of rank %d", static_cast<long long>(axis), x.rank);
  }
  const int64_t split = axis < 0 ? axis + x.rank : axis;
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 2;
  out.extents[0] = out.extents[1] = D(1);
  for (int i = 0; i < x.rank; ++i) {
    D& product = out.extents[i < split ? 0 : 1];
    if (!CheckedMultiply(D(product), x.extents[i], &product)) return ProductError(context);
  }
  return OkStatus();
}

/// Without axes, every axis of extent 1 goes; which those are may not depend on a size that is open.
template <class D>
Status InferSqueeze(InferContext<D>& context) {
  const auto& attrs = context.template As<AxesAttrs>();
  const InferInput<D>& x = context.inputs[0];
  uint32_t mask = 0;
  if (!AxesMask(attrs.axes, x.rank, &mask)) {
    return context.Error("an axis is named twice or lies outside an input of rank %d", x.rank);
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (attrs.axes.size == 0 && !IsKnown(x.extents[i]) && SameExtent(x.extents[i], D(1))) {
      return context.Error(
          "axis %d has an open extent, which is removed only where it is 1: name the axes to remove, or fix "
          "that size (--dim NAME=1), or keep it above 1 (--dim NAME=2..)",
          i);
    }
    const bool removed = attrs.axes.size == 0 ? IsValue(x.extents[i], 1) : ((mask >> i) & 1u) != 0;
    if (removed && !SameExtent(x.extents[i], D(1))) {
      return context.Error("axis %d has extent %lld, only 1 can be removed", i,
                           static_cast<long long>(KnownValue(x.extents[i])));
    }
    if (!removed) out.extents[out.rank++] = x.extents[i];
  }
  return OkStatus();
}

template <class D>
Status InferUnsqueeze(InferContext<D>& context) {
  const auto& attrs = context.template As<AxesAttrs>();
  const InferInput<D>& x = context.inputs[0];
  if (attrs.axes.size < 0 || attrs.axes.size > kMaxRank - x.rank) {
    return context.Error("an output of rank %lld is not possible, the most is %d",
                         static_cast<long long>(attrs.axes.size < 0 ? -1 : x.rank + attrs.axes.size),
                         kMaxRank);
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank + static_cast<int>(attrs.axes.size);
  uint32_t mask = 0;
  if (!AxesMask(attrs.axes, out.rank, &mask)) {
    return context.Error("an axis is named twice or lies outside an output of rank %d", out.rank);
  }
  for (int i = 0, from = 0; i < out.rank; ++i)
    out.extents[i] = ((mask >> i) & 1u) != 0 ? D(1) : x.extents[from++];
  return OkStatus();
}

template <class D>
Status InferTranspose(InferContext<D>& context) {
  const auto& attrs = context.template As<TransposeAttrs>();
  const InferInput<D>& x = context.inputs[0];
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank;
  uint32_t seen = 0;
  if (attrs.perm.size != 0 && attrs.perm.size != x.rank) {
    return context.Error("perm lists %lld axes, the input has %d", static_cast<long long>(attrs.perm.size),
                         x.rank);
  }
  for (int i = 0; i < x.rank; ++i) {
    const int64_t from = attrs.perm.size == 0 ? x.rank - 1 - i : attrs.perm[i];
    if (from < 0 || from >= x.rank || ((seen >> from) & 1u) != 0) {
      return context.Error("perm must name each axis of the input once; entry %d is %lld", i,
                           static_cast<long long>(from));
    }
    seen |= 1u << from;
    out.extents[i] = x.extents[from];
  }
  return OkStatus();
}

template <class D>
Status InferChannelShuffle(InferContext<D>& context) {
  const int64_t groups = context.template As<GroupsAttrs>().groups;
  const InferInput<D>& x = context.inputs[0];
  if (x.rank < 1 || groups < 1)
    return context.Error("an input of rank 1 or more and a positive number of groups are needed");
  const D channels = x.extents[x.rank - 1];
  if (!SameExtent(FloorDivide(channels, D(groups)) * D(groups), channels)) {
    return context.Error("%lld channels cannot be divided into %lld groups",
                         static_cast<long long>(KnownValue(channels)), static_cast<long long>(groups));
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) out.extents[i] = x.extents[i];
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferShape);
SKIFF_INSTANTIATE_RULE(InferReshape);
SKIFF_INSTANTIATE_RULE(InferFlatten);
SKIFF_INSTANTIATE_RULE(InferSqueeze);
SKIFF_INSTANTIATE_RULE(InferUnsqueeze);
SKIFF_INSTANTIATE_RULE(InferTranspose);
SKIFF_INSTANTIATE_RULE(InferChannelShuffle);

}  // namespace skiff
