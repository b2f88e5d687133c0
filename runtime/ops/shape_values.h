/// What shape rules ask of an input: its element type, and the values of shape inputs.
#pragma once

#include "ops/extent_math.h"
#include "ops/op.h"

namespace skiff {

/// Error unless input 0 has reals: quantised elements count as what they stand for.
template <class D>
Status CheckFloat(const InferContext<D>& context) {
  const DType dtype = context.inputs[0].dtype;
  if (IsFloat(dtype)) return OkStatus();
  return context.Error("the input must be floating point, not %s", DTypeName(dtype));
}

/// The known elements of a rank 0 or 1 integer input.
template <class D>
struct ShapeValues {
  const D* data = nullptr;
  int64_t count = 0;

  const D& operator[](int64_t i) const { return data[i]; }
};

/// Fills `values`, or says that input `i` must be a known list of integers.
template <class D>
Status ReadShapeValues(const InferContext<D>& context, size_t i, const char* what, ShapeValues<D>* values) {
  const InferInput<D>& input = context.inputs[i];
  if ((input.dtype != DType::kI64 && input.dtype != DType::kI32) || input.rank > 1) {
    return context.Error("input %zu (%s) must be a list of i64 or i32, not %s of rank %d", i, what,
                         DTypeName(input.dtype), input.rank);
  }
  const bool empty = input.rank == 1 && IsKnown(input.extents[0]) && KnownValue(input.extents[0]) == 0;
  if (input.values == nullptr && !empty) {
    return context.Error("the values of input %zu (%s) must be known before the run", i, what);
  }
  *values = {input.values, empty ? 0 : input.value_count};
  return OkStatus();
}

/// An extent that came from values or arithmetic on them: known ones must not be negative.
template <class D>
Status CheckExtent(const InferContext<D>& context, const D& extent, int axis) {
  if (!IsKnown(extent) || KnownValue(extent) >= 0) return OkStatus();
  return context.Error("the output's extent on axis %d would be %lld", axis,
                       static_cast<long long>(KnownValue(extent)));
}

template <class D>
bool IsValue(const D& number, int64_t value) {
  return IsKnown(number) && KnownValue(number) == value;
}

}  // namespace skiff
