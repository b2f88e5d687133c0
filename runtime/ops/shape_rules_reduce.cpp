// Shape rules of reductions and normalisations.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {

namespace {

template <class D>
Status CopyInput(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  context.outputs[0].dtype = x.dtype;
  context.outputs[0].rank = x.rank;
  for (int i = 0; i < x.rank; ++i) context.outputs[0].extents[i] = x.extents[i];
  return OkStatus();
}

template <class D>
Status CheckAxis(InferContext<D>& context, int64_t axis, int* index) {
  *index = NormalizeAxis(axis, context.inputs[0].rank);
  if (*index >= 0) return OkStatus();
  return context.Error("axis %lld is outside an input of rank %d", static_cast<long long>(axis),
                       context.inputs[0].rank);
}

}  // namespace

template <class D>
Status InferReduce(InferContext<D>& context) {
  const auto& attrs = context.template As<ReduceAttrs>();
  const InferInput<D>& x = context.inputs[0];
  uint32_t mask = 0;
  if (!ReducedAxes(attrs, x.rank, &mask)) {
    return context.Error("an axis is named twice or lies outside an input of rank %d", x.rank);
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (((mask >> i) & 1u) == 0) {
      out.extents[out.rank++] = x.extents[i];
    } else if (attrs.keep_dims) {
      out.extents[out.rank++] = D(1);
    }
  }
  return OkStatus();
}

template <class D>
Status InferSoftmax(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, context.template As<AxisAttrs>().axis, &axis));
  return CopyInput(context);
}

/// Inputs: x, scale and bias (or absent) of x's extents from `axis` on.
template <class D>
Status InferLayerNorm(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  const InferInput<D>& x = context.inputs[0];
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, context.template As<NormAttrs>().axis, &axis));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    if (!context.Has(i)) continue;
    const InferInput<D>& factor = context.inputs[i];
    bool matches = factor.dtype == x.dtype && factor.rank == x.rank - axis;
    for (int j = 0; matches && j < factor.rank; ++j)
      matches = SameExtent(factor.extents[j], x.extents[axis + j]);
    if (!matches) {
      return context.Error("input %zu must have the dtype and the last %d extents of the input", i,
                           x.rank - axis);
    }
  }
  return CopyInput(context);
}

/// Inputs: x, then scale, bias, mean and variance with one value per channel.
template <class D>
Status InferBatchNorm(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  const InferInput<D>& x = context.inputs[0];
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, context.template As<NormAttrs>().axis, &axis));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const InferInput<D>& factor = context.inputs[i];
    if (factor.dtype != x.dtype || factor.rank != 1 || !SameExtent(factor.extents[0], x.extents[axis])) {
      return context.Error("input %zu must be a vector with one value per channel, of the input's dtype", i);
    }
    // An open number of channels may be any of theirs, but only one.
    if (!SameExtent(factor.extents[0], context.inputs[1].extents[0])) {
      return context.Error("input %zu must have as many values as input 1, one per channel", i);
    }
  }
  return CopyInput(context);
}

SKIFF_INSTANTIATE_RULE(InferReduce);
SKIFF_INSTANTIATE_RULE(InferSoftmax);
SKIFF_INSTANTIATE_RULE(InferLayerNorm);
SKIFF_INSTANTIATE_RULE(InferBatchNorm);

}  // namespace skiff
