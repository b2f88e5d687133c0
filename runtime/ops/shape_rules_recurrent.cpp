// Shape rule of recurrent layers.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// Input i, where there is one, has these extents and the sequence's dtype.
template <class D>
Status CheckPart(const InferContext<D>& context, size_t i, const char* what,
                 std::initializer_list<D> extents) {
  if (!context.Has(i)) return OkStatus();
  const InferInput<D>& part = context.inputs[i];
  if (part.dtype != context.inputs[0].dtype) {
    return context.Error("input %zu (%s) is %s, the sequence %s", i, what, DTypeName(part.dtype),
                         DTypeName(context.inputs[0].dtype));
  }
  if (part.rank != static_cast<int>(extents.size())) {
    return context.Error("input %zu (%s) has rank %d; %zu was expected", i, what, part.rank, extents.size());
  }
  int axis = 0;
  for (const D& extent : extents) {
    if (!SameExtent(part.extents[axis], extent)) {
      return context.Error("input %zu (%s) has extent %lld on axis %d; %lld was expected", i, what,
                           static_cast<long long>(KnownValue(part.extents[axis])), axis,
                           static_cast<long long>(KnownValue(extent)));
    }
    ++axis;
  }
  return OkStatus();
}

}  // namespace

template <class D>
Status InferRecurrent(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& weights = context.inputs[1];
  if (!IsFloat(x.dtype) || x.rank != 3 || weights.rank != 2) {
    return context.Error("the sequence must be floating point of rank 3, the weights of rank 2");
  }
  if (!(context.template As<RecurrentAttrs>().cell_clip > 0))
    return context.Error("cell_clip must be positive");
  const D hidden = weights.extents[1];
  D rows(0);
  if (!CheckedMultiply(hidden, D(GatesOf(context.op)), &rows))
    return context.Error("the weights are too large");
  const D batch = x.extents[1];
  SKIFF_RETURN_IF_ERROR(CheckPart(context, 0, "the sequence", {x.extents[0], batch, rows}));
  SKIFF_RETURN_IF_ERROR(CheckPart(context, 1, "the weights", {rows, hidden}));
  SKIFF_RETURN_IF_ERROR(CheckPart(context, 2, "the bias", {rows}));
  SKIFF_RETURN_IF_ERROR(CheckPart(context, 3, "the first state", {batch, hidden}));
  SKIFF_RETURN_IF_ERROR(CheckPart(context, 5, "the first cell state", {batch, hidden}));
  D peepholes(0);
  if (!CheckedMultiply(hidden, D(3), &peepholes)) return context.Error("the weights are too large");
  SKIFF_RETURN_IF_ERROR(CheckPart(context, 6, "the peepholes", {peepholes}));
  if (context.Has(4)) {
    const InferInput<D>& lengths = context.inputs[4];
    const bool integers = lengths.dtype == DType::kI32 || lengths.dtype == DType::kI64;
    if (!integers || lengths.rank != 1 || !SameExtent(lengths.extents[0], batch)) {
      return context.Error("the lengths must be i32 or i64, one for each sequence");
    }
  }
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    InferOutput<D>& out = context.outputs[i];
    out.dtype = x.dtype;
    out.rank = 0;
    if (i == 0) out.extents[out.rank++] = x.extents[0];
    out.extents[out.rank++] = batch;
    out.extents[out.rank++] = hidden;
  }
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferRecurrent);

}  // namespace skiff
