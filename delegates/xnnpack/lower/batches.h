/// A MatMul as products of matrices.
#pragma once

#include <cstddef>

#include <xnnpack.h>

#include "skiff/tensor.h"

namespace skiff::xnnpack {

/// Batches of [m, k] times [k, n]. Along an axis of the batches an extent of 1 repeats.
struct BatchShape {
  size_t rank = 0;
  size_t a[XNN_MAX_TENSOR_DIMS] = {};
  size_t b[XNN_MAX_TENSOR_DIMS] = {};
  int axis[XNN_MAX_TENSOR_DIMS] = {};  ///< Of the operands, counted from 1 before the matrices on.
  size_t m = 1;
  size_t k = 1;
  size_t n = 1;
};

/// False: too many axes.
bool DescribeBatches(const Shape& a, const Shape& b, bool transpose_b, BatchShape* out);

/// Where an operand's matrices lie: elements from neighbour to neighbour.
struct Matrices {
  const TensorView* tensor = nullptr;  ///< Begins with the first one; outlives this.
  size_t row = 0;
  size_t column = 0;
  size_t batch[XNN_MAX_TENSOR_DIMS] = {};  ///< Along the axes of a BatchShape; 0 repeats.
};

/// Matrices of `rows` x `columns`, one behind the other in batches of these extents.
Matrices DenseMatrices(const TensorView& tensor, size_t rows, size_t columns, size_t rank,
                       const size_t* extents);
/// Those of an operand of this shape, at least three axes, whose elements lie `strides` apart in `tensor`.
Matrices StridedMatrices(const TensorView& tensor, const Shape& shape, const int64_t* strides,
                         const BatchShape& batches);

/// The elements before matrix `index`, which is counted through `extents`.
size_t OffsetOf(size_t index, size_t rank, const size_t* extents, const size_t* strides);

}  // namespace skiff::xnnpack
