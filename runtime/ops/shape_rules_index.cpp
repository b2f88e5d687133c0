// Shape rules of operators that find, order and address elements.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {
namespace {

template <class D>
Status SameAs(InferContext<D>& context, size_t output = 0) {
  const InferInput<D>& x = context.inputs[0];
  InferOutput<D>& out = context.outputs[output];
  out.dtype = x.dtype;
  out.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) out.extents[i] = x.extents[i];
  return OkStatus();
}

template <class D>
Status CheckAxis(const InferContext<D>& context, int64_t axis, int* index) {
  const int rank = context.inputs[0].rank;
  *index = NormalizeAxis(axis, rank);
  if (*index >= 0) return OkStatus();
  return context.Error("axis %lld is outside an input of rank %d", static_cast<long long>(axis), rank);
}

template <class D>
Status CheckIndexDType(const InferContext<D>& context, size_t i, const char* what) {
  const DType dtype = context.inputs[i].dtype;
  if (dtype == DType::kI64 || dtype == DType::kI32) return OkStatus();
  return context.Error("input %zu (%s) must be i64 or i32, not %s", i, what, DTypeName(dtype));
}

/// Input i is one i64 or i32: a scalar, or a vector of one element.
template <class D>
Status CheckOneInteger(const InferContext<D>& context, size_t i, const char* what) {
  SKIFF_RETURN_IF_ERROR(CheckIndexDType(context, i, what));
  const InferInput<D>& input = context.inputs[i];
  if (input.rank == 0 || (input.rank == 1 && SameExtent(input.extents[0], D(1)))) return OkStatus();
  return context.Error("input %zu (%s) must be one number", i, what);
}

/// The last extent of the indices of GatherND and ScatterND: over how many axes, from `first` on, one goes.
template <class D>
Status ReadTupleLength(const InferContext<D>& context, int first, int* length) {
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& indices = context.inputs[1];
  SKIFF_RETURN_IF_ERROR(CheckIndexDType(context, 1, "the indices"));
  if (indices.rank < 1 || !IsKnown(indices.extents[indices.rank - 1])) {
    return context.Error("the indices need a last extent that is known");
  }
  const int64_t count = KnownValue(indices.extents[indices.rank - 1]);
  if (count < 1 || count > x.rank - first) {
    return context.Error("the last extent of the indices is %lld; 1 to %d was expected",
                         static_cast<long long>(count), x.rank - first);
  }
  *length = static_cast<int>(count);
  return OkStatus();
}

/// Indices along one axis of the input: as many axes, and nowhere longer than the input but along `axis`.
template <class D>
Status CheckElementIndices(const InferContext<D>& context, int axis) {
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& indices = context.inputs[1];
  SKIFF_RETURN_IF_ERROR(CheckIndexDType(context, 1, "the indices"));
  if (indices.rank != x.rank) {
    return context.Error("the indices have rank %d, the input %d", indices.rank, x.rank);
  }
  for (int i = 0; i < x.rank; ++i) {
    if (i == axis || SameExtent(MaxExtent(indices.extents[i], x.extents[i]), x.extents[i])) continue;
    return context.Error("the indices have extent %lld on axis %d, the input only %lld",
                         static_cast<long long>(KnownValue(indices.extents[i])), i,
                         static_cast<long long>(KnownValue(x.extents[i])));
  }
  return OkStatus();
}

template <class D>
Status CheckScatter(const InferContext<D>& context) {
  const ScatterReduction reduction = context.template As<ScatterAttrs>().reduction;
  if (reduction < ScatterReduction::kNone || reduction > ScatterReduction::kMax) {
    return context.Error("the reduction is unknown");
  }
  if (context.inputs[0].dtype == context.inputs[2].dtype) return OkStatus();
  return context.Error("the updates are %s, the input is %s", DTypeName(context.inputs[2].dtype),
                       DTypeName(context.inputs[0].dtype));
}

}  // namespace

template <class D>
Status InferSameAsFloat(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  return SameAs(context);
}

template <class D>
Status InferFakeQuantize(InferContext<D>& context) {
  const auto& attrs = context.template As<FakeQuantizeAttrs>();
  const InferInput<D>& x = context.inputs[0];
  int axis = 0;
  const bool scalar = x.rank == 0;
  if (!scalar) SKIFF_RETURN_IF_ERROR(CheckAxis(context, attrs.axis, &axis));
  if (attrs.block < 0) return context.Error("blocks of %lld are none", static_cast<long long>(attrs.block));
  if (attrs.block > 0) {
    const D extent = scalar ? D(1) : x.extents[x.rank - 1];
    if (IsKnown(extent) && KnownValue(extent) % attrs.block != 0)
      return context.Error("the innermost extent, %lld, is no multiple of blocks of %lld",
                           static_cast<long long>(KnownValue(extent)), static_cast<long long>(attrs.block));
  }
  return InferSameAsFloat(context);
}

template <class D>
Status InferTest(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(InferSameAsFloat(context));
  context.outputs[0].dtype = DType::kBool;
  return OkStatus();
}

template <class D>
Status InferArg(InferContext<D>& context) {
  const auto& attrs = context.template As<ArgAttrs>();
  const InferInput<D>& x = context.inputs[0];
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, attrs.axis, &axis));
  if (IsValue(x.extents[axis], 0)) return context.Error("axis %d has no element to choose", axis);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = DType::kI64;
  out.rank = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (i != axis) {
      out.extents[out.rank++] = x.extents[i];
    } else if (attrs.keep_dims) {
      out.extents[out.rank++] = D(1);
    }
  }
  return OkStatus();
}

/// Inputs: x, k. Outputs: the elements, their indices.
template <class D>
Status InferTopK(InferContext<D>& context) {
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, context.template As<TopKAttrs>().axis, &axis));
  ShapeValues<D> k;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "k", &k));
  if (k.count != 1) return context.Error("k must be one number, not %lld", static_cast<long long>(k.count));
  const D& extent = context.inputs[0].extents[axis];
  if (!IsNonNegative(k[0]) || !SameExtent(MaxExtent(k[0], extent), extent)) {
    return context.Error("k is %lld, axis %d has %lld elements", static_cast<long long>(KnownValue(k[0])),
                         axis, static_cast<long long>(KnownValue(extent)));
  }
  for (const size_t output : {size_t{0}, size_t{1}}) {
    SKIFF_RETURN_IF_ERROR(SameAs(context, output));
    context.outputs[output].extents[axis] = MinExtent(k[0], extent);
  }
  context.outputs[1].dtype = DType::kI64;
  return OkStatus();
}

/// Inputs: x, the axis.
template <class D>
Status InferCumSum(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(CheckOneInteger(context, 1, "the axis"));
  return SameAs(context);
}

template <class D>
Status InferGatherElements(InferContext<D>& context) {
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, context.template As<AxisAttrs>().axis, &axis));
  SKIFF_RETURN_IF_ERROR(CheckElementIndices(context, axis));
  SKIFF_RETURN_IF_ERROR(SameAs(context));
  InferOutput<D>& out = context.outputs[0];
  for (int i = 0; i < out.rank; ++i) out.extents[i] = context.inputs[1].extents[i];
  return OkStatus();
}

/// Output: the indices' extents but the last one, then the input's behind those that a tuple goes over.
template <class D>
Status InferGatherND(InferContext<D>& context) {
  const int64_t batch_dims = context.template As<GatherNDAttrs>().batch_dims;
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& indices = context.inputs[1];
  if (batch_dims < 0 || batch_dims >= x.rank || batch_dims >= indices.rank) {
    return context.Error("batch_dims is %lld for inputs of rank %d and %d",
                         static_cast<long long>(batch_dims), x.rank, indices.rank);
  }
  const int batch = static_cast<int>(batch_dims);
  int length = 0;
  SKIFF_RETURN_IF_ERROR(ReadTupleLength(context, batch, &length));
  for (int i = 0; i < batch; ++i) {
    if (SameExtent(x.extents[i], indices.extents[i])) continue;
    return context.Error("the indices have extent %lld on batch axis %d, the input %lld",
                         static_cast<long long>(KnownValue(indices.extents[i])), i,
                         static_cast<long long>(KnownValue(x.extents[i])));
  }
  const int rank = indices.rank - 1 + x.rank - batch - length;
  if (rank > kMaxRank) {
    return context.Error("an output of rank %d is not possible, the most is %d", rank, kMaxRank);
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 0;
  for (int i = 0; i + 1 < indices.rank; ++i) out.extents[out.rank++] = indices.extents[i];
  for (int i = batch + length; i < x.rank; ++i) out.extents[out.rank++] = x.extents[i];
  return OkStatus();
}

/// Inputs: x, indices, updates of the indices' extents.
template <class D>
Status InferScatterElements(InferContext<D>& context) {
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, context.template As<ScatterAttrs>().axis, &axis));
  SKIFF_RETURN_IF_ERROR(CheckScatter(context));
  SKIFF_RETURN_IF_ERROR(CheckElementIndices(context, axis));
  const InferInput<D>& indices = context.inputs[1];
  const InferInput<D>& updates = context.inputs[2];
  bool matches = updates.rank == indices.rank;
  for (int i = 0; matches && i < indices.rank; ++i) {
    matches = SameExtent(updates.extents[i], indices.extents[i]);
  }
  if (!matches) return context.Error("the updates must have the extents of the indices");
  return SameAs(context);
}

/// Inputs: x, indices, updates: for each tuple of indices the part of x that it leaves open.
template <class D>
Status InferScatterND(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& indices = context.inputs[1];
  const InferInput<D>& updates = context.inputs[2];
  SKIFF_RETURN_IF_ERROR(CheckScatter(context));
  int length = 0;
  SKIFF_RETURN_IF_ERROR(ReadTupleLength(context, 0, &length));
  const int tuples = indices.rank - 1;
  const int rank = tuples + x.rank - length;
  if (updates.rank != rank) {
    return context.Error("the updates have rank %d; %d was expected", updates.rank, rank);
  }
  for (int i = 0; i < rank; ++i) {
    const D& expected = i < tuples ? indices.extents[i] : x.extents[i - tuples + length];
    if (SameExtent(updates.extents[i], expected)) continue;
    return context.Error("the updates have extent %lld on axis %d; %lld was expected",
                         static_cast<long long>(KnownValue(updates.extents[i])), i,
                         static_cast<long long>(KnownValue(expected)));
  }
  return SameAs(context);
}

/// Inputs: x, the length of each batch.
template <class D>
Status InferReverseSequence(InferContext<D>& context) {
  const auto& attrs = context.template As<ReverseAttrs>();
  const InferInput<D>& lengths = context.inputs[1];
  int batch_axis = 0;
  int time_axis = 0;
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, attrs.batch_axis, &batch_axis));
  SKIFF_RETURN_IF_ERROR(CheckAxis(context, attrs.time_axis, &time_axis));
  if (batch_axis == time_axis) return context.Error("axis %d is both batch and time", time_axis);
  SKIFF_RETURN_IF_ERROR(CheckIndexDType(context, 1, "the lengths"));
  if (lengths.rank != 1 || !SameExtent(lengths.extents[0], context.inputs[0].extents[batch_axis])) {
    return context.Error("the lengths must be a vector with one number for each of the %lld batches",
                         static_cast<long long>(KnownValue(context.inputs[0].extents[batch_axis])));
  }
  return SameAs(context);
}

/// Inputs: x, by how much the diagonal is shifted (or absent: 0).
template <class D>
Status InferTrilu(InferContext<D>& context) {
  if (context.inputs[0].rank < 2) {
    return context.Error("the input must have rank 2 or more, not %d", context.inputs[0].rank);
  }
  if (context.Has(1)) SKIFF_RETURN_IF_ERROR(CheckOneInteger(context, 1, "the diagonal"));
  return SameAs(context);
}

SKIFF_INSTANTIATE_RULE(InferSameAsFloat);
SKIFF_INSTANTIATE_RULE(InferFakeQuantize);
SKIFF_INSTANTIATE_RULE(InferTest);
SKIFF_INSTANTIATE_RULE(InferArg);
SKIFF_INSTANTIATE_RULE(InferTopK);
SKIFF_INSTANTIATE_RULE(InferCumSum);
SKIFF_INSTANTIATE_RULE(InferGatherElements);
SKIFF_INSTANTIATE_RULE(InferGatherND);
SKIFF_INSTANTIATE_RULE(InferScatterElements);
SKIFF_INSTANTIATE_RULE(InferScatterND);
SKIFF_INSTANTIATE_RULE(InferReverseSequence);
SKIFF_INSTANTIATE_RULE(InferTrilu);

}  // namespace skiff
