#include "delegates/xnnpack/lower/batches.h"

namespace skiff::xnnpack {

bool DescribeBatches(const Shape& a, const Shape& b, bool transpose_b, BatchShape* out) {
  out->k = static_cast<size_t>(a.last());
  out->n = b.rank() == 1 ? 1 : static_cast<size_t>(b[b.rank() - (transpose_b ? 2 : 1)]);
  if (b.rank() <= 2) {  // One matrix for all rows of a.
    out->m = static_cast<size_t>(a.elements()) / out->k;
    return true;
  }
  out->m = a.rank() == 1 ? 1 : static_cast<size_t>(a[a.rank() - 2]);
  const int a_rank = a.rank() > 2 ? a.rank() - 2 : 0;
  const int b_rank = b.rank() - 2;
  const int rank = a_rank > b_rank ? a_rank : b_rank;
  for (int i = rank; i > 0; --i) {
    const auto left = static_cast<size_t>(i <= a_rank ? a[a_rank - i] : 1);
    const auto right = static_cast<size_t>(i <= b_rank ? b[b_rank - i] : 1);
    if (left == 1 && right == 1) continue;
    if (out->rank == XNN_MAX_TENSOR_DIMS) return false;
    out->axis[out->rank] = i;
    out->a[out->rank] = left;
    out->b[out->rank++] = right;
  }
  return true;
}

Matrices DenseMatrices(const TensorView& tensor, size_t rows, size_t columns, size_t rank,
                       const size_t* extents) {
  Matrices matrices{&tensor, columns, 1};
  size_t stride = rows * columns;
  for (size_t i = rank; i-- > 0; stride *= extents[i]) matrices.batch[i] = extents[i] == 1 ? 0 : stride;
  return matrices;
}

Matrices StridedMatrices(const TensorView& tensor, const Shape& shape, const int64_t* strides,
                         const BatchShape& batches) {
  const int matrix = shape.rank() - 2;
  const auto stride_of = [&](int axis) { return static_cast<size_t>(strides[axis]); };
  Matrices matrices{&tensor, stride_of(matrix), stride_of(matrix + 1)};
  for (size_t i = 0; i < batches.rank; ++i) {
    const int axis = matrix - batches.axis[i];
    matrices.batch[i] = axis < 0 || shape[axis] == 1 ? 0 : stride_of(axis);
  }
  return matrices;
}

size_t OffsetOf(size_t index, size_t rank, const size_t* extents, const size_t* strides) {
  size_t offset = 0;
  for (size_t i = rank; i-- > 0; index /= extents[i]) offset += index % extents[i] * strides[i];
  return offset;
}

}  // namespace skiff::xnnpack
