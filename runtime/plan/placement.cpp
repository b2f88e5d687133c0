#include "plan/placement.h"

#include "ops/build_ops.h"
#include "ops/op.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// Element `index` of a constant integer vector. One that a shape program makes has no elements yet.
bool ConstantElement(const PlanTensor& tensor, int64_t index, int64_t* value) {
  if (!tensor.constant || tensor.view.data == nullptr || index >= tensor.view.shape.elements()) return false;
  if (tensor.view.dtype == DType::kI64) {
    *value = tensor.view.as<const int64_t>()[index];
  } else if (tensor.view.dtype == DType::kI32) {
    *value = tensor.view.as<const int32_t>()[index];
  } else {
    return false;
  }
  return true;
}

/// The only axis in which the shapes differ; -1 when none or several do.
int OnlyDifferentAxis(const Shape& a, const Shape& b) {
  int different = -1;
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] == b[i]) continue;
    if (different >= 0) return -1;
    different = i;
  }
  return different;
}

/// The first element that a Slice takes along `axis`, when it takes every element from there on.
bool SliceBegin(Span<const PlanTensor> tensors, const PlanNode& node, const Shape& whole, int axis,
                int64_t* begin) {
  const auto operand = [&](size_t input) -> const PlanTensor* {
    return input < node.inputs.size() && node.inputs[input] >= 0
               ? &tensors[static_cast<size_t>(node.inputs[input])]
               : nullptr;
  };
  const int64_t count = operand(1)->view.shape.elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t sliced = i;
    int64_t start = 0;
    int64_t end = 0;
    int64_t step = 1;
    if (operand(3) != nullptr && !ConstantElement(*operand(3), i, &sliced)) return false;
    if (operand(4) != nullptr && !ConstantElement(*operand(4), i, &step)) return false;
    if (!ConstantElement(*operand(1), i, &start) || !ConstantElement(*operand(2), i, &end)) return false;
    // A negative step over one element leaves the shape alone, but only a step of 1 is a plain range.
    if (step != 1) return false;
    if (NormalizeAxis(sliced, whole.rank()) == axis)
      *begin = ResolveSlice(whole[axis], start, end, step).start;
  }
  return true;
}

}  // namespace

bool PlaceAlongAxis(const Shape& whole, const Shape& part, int axis, int64_t begin, Placement* placement) {
  const bool innermost = axis == whole.rank() - 1;
  if (whole.ElementsBetween(0, axis) != 1 && !innermost) return false;
  placement->offset = begin * whole.ElementsBetween(axis + 1, whole.rank());
  placement->row_stride = innermost ? whole.last() : part.last();
  return true;
}

int64_t SpanBytes(const TensorView& view) {
  const int64_t elements = view.shape.elements();
  if (elements == 0) return 0;
  const int64_t rows = elements / view.shape.last();
  return ((rows - 1) * view.row_stride + view.shape.last()) * DTypeSize(view.dtype);
}

bool IsInPlace(const TensorView& whole, const TensorView& part, int64_t distance,
               const Placement& placement) {
  if (distance != placement.offset * DTypeSize(whole.dtype)) return false;
  // Behind the first row of a whole with gaps, elements lie elsewhere than they are counted.
  if (!whole.dense() && placement.offset >= whole.shape.last()) return false;
  if (part.shape.elements() <= part.shape.last()) return true;
  if (whole.dense()) return part.row_stride == placement.row_stride;
  return placement.row_stride == whole.shape.last() && part.row_stride == whole.row_stride;
}

bool PlaceInConcat(Span<const PlanTensor> tensors, const PlanNode& node, size_t input, Placement* placement) {
  const Shape& whole = tensors[static_cast<size_t>(node.outputs[0])].view.shape;
  const int axis = NormalizeAxis(node.attrs->as<AxisAttrs>().axis, whole.rank());
  if (axis < 0) return false;
  int64_t begin = 0;
  for (size_t i = 0; i < input; ++i) begin += tensors[static_cast<size_t>(node.inputs[i])].view.shape[axis];
  return PlaceAlongAxis(whole, tensors[static_cast<size_t>(node.inputs[input])].view.shape, axis, begin,
                        placement);
}

bool PlaceInInput(Span<const PlanTensor> tensors, const PlanNode& node, size_t output, Placement* placement) {
  if (!BuildHas(OpCode::kSplit) && !BuildHas(OpCode::kSlice)) return false;
  const Shape& whole = tensors[static_cast<size_t>(node.inputs[0])].view.shape;
  const Shape& part = tensors[static_cast<size_t>(node.outputs[output])].view.shape;
  int64_t begin = 0;
  if (BuildHas(OpCode::kSplit) && node.op->code == OpCode::kSplit) {
    const int axis = NormalizeAxis(node.attrs->as<SplitAttrs>().axis, whole.rank());
    if (axis < 0) return false;
    for (size_t i = 0; i < output; ++i)
      begin += tensors[static_cast<size_t>(node.outputs[i])].view.shape[axis];
    return PlaceAlongAxis(whole, part, axis, begin, placement);
  }
  if (!BuildHas(OpCode::kSlice) || node.op->code != OpCode::kSlice || whole.rank() != part.rank())
    return false;
  const int axis = OnlyDifferentAxis(whole, part);
  return axis >= 0 && SliceBegin(tensors, node, whole, axis, &begin) &&
         PlaceAlongAxis(whole, part, axis, begin, placement);
}

}  // namespace skiff
