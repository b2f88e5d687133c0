/// Indices that come from a tensor's elements: checked as a whole before the first one is used, so that no
/// kernel reads or writes beside a tensor, and none stops half way.
#pragma once

#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"

namespace skiff::eager {

/// An index that counts from the end where it is negative.
inline int64_t FromEnd(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

/// Element i of `indices` must lie inside extents[i % count]; `count` is at least 1.
inline Status CheckIndices(OpCode op, const TensorView& indices, const int64_t* extents, int64_t count) {
  const int64_t total = indices.shape.elements();
  for (int64_t i = 0; i < total; i += count) {
    for (int64_t j = 0; j < count; ++j) {
      const int64_t position = i + j;
      const int64_t index = IntegerAt(indices, position);
      if (index >= -extents[j] && index < extents[j]) continue;
      return Fail(StatusCode::kInvalidArgument, "%s: index %lld at position %lld is outside [-%lld, %lld)",
                  FindOp(op)->name, static_cast<long long>(index), static_cast<long long>(position),
                  static_cast<long long>(extents[j]), static_cast<long long>(extents[j]));
    }
  }
  return OkStatus();
}

/// Where tuples of indices point to: the axes [first, first + length) of a tensor.
struct TupleAddress {
  int length = 0;
  int64_t extents[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};

  TupleAddress(const Shape& shape, int first, int tuple_length) : length(tuple_length) {
    const AxisStrides dense = DenseStrides(shape);
    for (int i = 0; i < length; ++i) {
      const int axis = first + i;
      extents[i] = shape[axis];
      strides[i] = dense[static_cast<size_t>(axis)];
    }
  }
  /// The offset of tuple `i`, whose indices are in range, in elements.
  int64_t Offset(const TensorView& indices, int64_t i) const {
    int64_t offset = 0;
    for (int j = 0; j < length; ++j) {
      offset += FromEnd(IntegerAt(indices, i * length + j), extents[j]) * strides[j];
    }
    return offset;
  }
};

/// The walk of GatherElements and ScatterElements: operand 0 goes over the indices, operand 1 over the
/// tensor that they address, without the part along `axis`.
inline StridedWalk<2> ElementWalk(const Shape& indices, const Shape& addressed, int axis) {
  const AxisStrides own = DenseStrides(indices);
  const AxisStrides other = DenseStrides(addressed);
  StridedWalk<2> walk;
  for (int i = 0; i < indices.rank(); ++i) {
    const auto a = static_cast<size_t>(i);
    walk.Append(indices[i], {own[a], i == axis ? 0 : other[a]});
  }
  return walk;
}

}  // namespace skiff::eager
