// Matrix products.
#include <algorithm>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "eager/kernels/product.h"

namespace skiff {
namespace {

using namespace eager;

/// One m x k by k x n product; element (k, n) of b lies at k * b_depth_stride + n * b_column_stride.
struct MatrixExtents {
  int64_t m = 1;
  int64_t k = 0;
  int64_t n = 1;
  int64_t b_depth_stride = 1;
  int64_t b_column_stride = 0;
};

template <class T>
void MultiplyFloat(const MatrixExtents& matrix, const T* a, const T* b, const ProductOutput<T>& out) {
  const ProductColumns<T> columns{b, matrix.b_column_stride, matrix.b_depth_stride, matrix.n, matrix.k};
  BlockedProduct(matrix.m, columns, out,
                 [&](int64_t row, int64_t rows, int64_t first, int64_t count, double* block) {
                   for (int64_t r = 0; r < rows; ++r) {
                     const T* from = a + (row + r) * matrix.k + first;
                     for (int64_t i = 0; i < count; ++i) block[i * kBlockRows + r] = ToDouble(from[i]);
                   }
                 });
}

/// U is the unsigned type of the elements' size: the low bits of a product or sum depend on the low bits of
/// the operands only, so that signed elements wrap alike.
template <class U>
void MultiplyInteger(const MatrixExtents& matrix, const U* a, const U* b, U* out) {
  using Wide =
      std::conditional_t<(sizeof(U) < sizeof(uint32_t)), uint32_t, U>;  // Not int, which may overflow.
  Wide sums[kChunk];
  for (int64_t m = 0; m < matrix.m; ++m, a += matrix.k, out += matrix.n) {
    for (int64_t n = 0; n < matrix.n; n += kChunk) {
      const int64_t count = matrix.n - n < kChunk ? matrix.n - n : kChunk;
      std::fill_n(sums, count, Wide{0});
      for (int64_t k = 0; k < matrix.k; ++k) {
        const Wide factor = a[k];
        const U* row = b + k * matrix.b_depth_stride + n * matrix.b_column_stride;
        for (int64_t i = 0; i < count; ++i) sums[i] += factor * row[i * matrix.b_column_stride];
      }
      for (int64_t i = 0; i < count; ++i) out[n + i] = static_cast<U>(sums[i]);
    }
  }
}

/// The clamp compares values: of the sums as they are once they have wrapped to the element type.
void ClampIntegers(const LaneClamp<int64_t>& clamp, const TensorView& out) {
  const LoadFn<int64_t> load = Loader<int64_t>(out.dtype);
  const StoreFn<int64_t> store = Storer<int64_t>(out.dtype);
  int64_t lanes[kChunk];
  const int64_t elements = out.shape.elements();
  for (int64_t i = 0; i < elements; i += kChunk) {
    const int64_t count = elements - i < kChunk ? elements - i : kChunk;
    load(out.data, i, 1, count, lanes);
    clamp.Apply(lanes, count);
    store(out.data, i, count, lanes);
  }
}

Shape BatchShape(const Shape& shape) { return Shape(shape.begin(), shape.rank() > 2 ? shape.rank() - 2 : 0); }

MatrixExtents MatrixOf(const Shape& a, const Shape& b, bool transpose_b) {
  MatrixExtents matrix;
  if (a.rank() > 1) matrix.m = a[a.rank() - 2];
  matrix.k = a.last();
  if (b.rank() > 1) {
    matrix.n = b[b.rank() - (transpose_b ? 2 : 1)];
    matrix.b_depth_stride = transpose_b ? 1 : matrix.n;
    matrix.b_column_stride = transpose_b ? matrix.k : 1;
  }
  return matrix;
}

}  // namespace

Status KernelMatMul(const KernelArgs& args) {
  const auto& attrs = args.As<MatMulAttrs>();
  const TensorView& a = args.inputs[0];
  const TensorView& b = args.inputs[1];
  const TensorView& out = args.outputs[0];
  const MatrixExtents matrix = MatrixOf(a.shape, b.shape, attrs.transpose_b);
  // The batch axes are broadcast like those of an elementwise operator, with whole matrices as elements.
  const Shape a_batch = BatchShape(a.shape);
  const Shape b_batch = BatchShape(b.shape);
  const int batch_rank = a_batch.rank() > b_batch.rank() ? a_batch.rank() : b_batch.rank();
  const auto walk = BroadcastWalk(Shape(out.shape.begin(), batch_rank), a_batch, b_batch);
  const auto for_each_matrix = [&](auto&& multiply) {
    walk.ForEachRun(1, [&](const auto& offsets, int64_t, const auto&) {
      multiply(offsets[0] * matrix.m * matrix.n, offsets[1] * matrix.m * matrix.k,
               offsets[2] * matrix.k * matrix.n);
    });
  };
  if (IsInteger(a.dtype)) {
    const LaneClamp<int64_t> clamp(attrs.min, attrs.max);
    if (clamp.active && a.dtype == DType::kU64) return UnsupportedDType(args.op, a.dtype);
    const Status multiplied = VisitSize(args.op, a.dtype, [&](auto tag) {
      using U = typename decltype(tag)::Type;
      for_each_matrix([&](int64_t out_offset, int64_t a_offset, int64_t b_offset) {
        MultiplyInteger(matrix, a.as<const U>() + a_offset, b.as<const U>() + b_offset,
                        out.as<U>() + out_offset);
      });
      return OkStatus();
    });
    if (multiplied.ok() && clamp.active) ClampIntegers(clamp, out);
    return multiplied;
  }
  return VisitFloat(args.op, a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const LaneClamp<double> clamp(attrs.min, attrs.max);
    for_each_matrix([&](int64_t out_offset, int64_t a_offset, int64_t b_offset) {
      MultiplyFloat(matrix, a.as<const T>() + a_offset, b.as<const T>() + b_offset,
                    ProductOutput<T>{out.as<T>() + out_offset, matrix.n, nullptr, clamp});
    });
    return OkStatus();
  });
}

Status KernelFullyConnected(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& weights = args.inputs[1];
  const TensorView& out = args.outputs[0];
  const auto& attrs = args.As<ClampAttrs>();
  MatrixExtents matrix = MatrixOf(x.shape, weights.shape, true);
  matrix.m = x.shape.ElementsBetween(0, x.shape.rank() - 1);
  return VisitFloat(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* bias = args.Has(2) ? args.inputs[2].as<const T>() : nullptr;
    MultiplyFloat(matrix, x.as<const T>(), weights.as<const T>(),
                  ProductOutput<T>{out.as<T>(), matrix.n, bias, LaneClamp<double>(attrs.min, attrs.max)});
    return OkStatus();
  });
}

}  // namespace skiff
