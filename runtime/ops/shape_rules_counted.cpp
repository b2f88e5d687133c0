// Shape rules of operators of which only the run can tell how much they return.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {
namespace {

template <class D>
Status CountElements(const InferContext<D>& context, const InferInput<D>& x, D* elements) {
  *elements = D(1);
  for (int i = 0; i < x.rank; ++i) {
    if (!CheckedMultiply(*elements, x.extents[i], elements))
      return context.Error("the input has too many elements");
  }
  return OkStatus();
}

template <class D>
void SetVector(InferOutput<D>& out, DType dtype, const D& extent) {
  out.dtype = dtype;
  out.rank = 1;
  out.extents[0] = extent;
}

}  // namespace

/// Inputs: x, how many elements of it are not 0. A single number is a vector of one.
template <class D>
Status InferNonZero(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  ShapeValues<D> count;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the count", &count));
  if (count.count != 1 || !IsNonNegative(count[0]))
    return context.Error("the count must be one number that is not negative");
  InferOutput<D>& out = context.outputs[0];
  out.dtype = DType::kI64;
  out.rank = 2;
  out.extents[0] = D(x.rank == 0 ? 1 : x.rank);
  D elements;
  SKIFF_RETURN_IF_ERROR(CountElements(context, x, &elements));
  out.extents[1] = MinExtent(count[0], elements);
  return OkStatus();
}

/// Inputs: boxes [batch, boxes, 4], scores [batch, classes, boxes], the most of a class, the most overlap,
/// the least score. Outputs: [batch, class, box] of what is taken, how many that are, and room to work in: an
/// order and a box of each.
template <class D>
Status InferNonMaxSuppression(InferContext<D>& context) {
  const InferInput<D>& boxes = context.inputs[0];
  const InferInput<D>& scores = context.inputs[1];
  if (boxes.rank != 3 || scores.rank != 3 || !SameExtent(boxes.extents[2], D(4)))
    return context.Error("boxes must be [batch, boxes, 4] and scores [batch, classes, boxes]");
  if (!SameExtent(boxes.extents[0], scores.extents[0]) || !SameExtent(boxes.extents[1], scores.extents[2]))
    return context.Error("boxes and scores are of different numbers of batches or boxes");
  for (const size_t i : {0, 1, 3, 4}) {
    const InferInput<D>& input = context.inputs[i];
    if (input.dtype != DType::kF32)
      return context.Error("input %zu must be f32, not %s", i, DTypeName(input.dtype));
    const bool one = input.rank == 0 || (input.rank == 1 && SameExtent(input.extents[0], D(1)));
    if (i >= 3 && !one) return context.Error("input %zu must be one number", i);
  }
  ShapeValues<D> most;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 2, "the most of a class", &most));
  if (most.count != 1) return context.Error("the most of a class must be one number");
  const D of_class = MaxExtent(MinExtent(most[0], boxes.extents[1]), D(0));
  InferOutput<D>& taken = context.outputs[0];
  taken.dtype = DType::kI64;
  taken.rank = 2;
  if (!CheckedMultiply(scores.extents[0], scores.extents[1], &taken.extents[0]) ||
      !CheckedMultiply(taken.extents[0], of_class, &taken.extents[0]))
    return context.Error("there would be too many boxes");
  taken.extents[1] = D(3);
  SetVector(context.outputs[1], DType::kI64, D(1));
  D room;
  if (!CheckedMultiply(boxes.extents[1], D(3), &room)) return context.Error("there are too many boxes");
  SetVector(context.outputs[2], DType::kI64, room);
  return OkStatus();
}

template <class D>
Status InferUnique(InferContext<D>& context) {
  const auto& attrs = context.template As<UniqueAttrs>();
  const InferInput<D>& x = context.inputs[0];
  D count;
  SKIFF_RETURN_IF_ERROR(CountElements(context, x, &count));
  InferOutput<D>& out = context.outputs[0];
  SetVector(out, x.dtype, count);
  if (attrs.slices) {
    const int axis = NormalizeAxis(attrs.axis, x.rank);
    if (axis < 0) {
      return context.Error("axis %lld is outside an input of rank %d", static_cast<long long>(attrs.axis),
                           x.rank);
    }
    count = x.extents[axis];
    out.rank = x.rank;
    for (int i = 0; i < x.rank; ++i) out.extents[i] = x.extents[i];
  }
  for (size_t i = 1; i < 4; ++i) SetVector(context.outputs[i], DType::kI64, count);
  SetVector(context.outputs[4], DType::kI64, D(1));
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferNonZero);
SKIFF_INSTANTIATE_RULE(InferNonMaxSuppression);
SKIFF_INSTANTIATE_RULE(InferUnique);

}  // namespace skiff
