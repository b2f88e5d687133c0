// Det: the product of the pivots of Gaussian elimination, whose rows change places for the largest one.
#include <cmath>
#include <utility>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

using namespace eager;

/// `rows` become the factors.
double Eliminate(double* rows, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(rows[i * n + k]) > std::fabs(rows[best * n + k])) best = i;
    }
    if (best != k) {
      for (int64_t j = 0; j < n; ++j) std::swap(rows[k * n + j], rows[best * n + j]);
      product = -product;
    }
    const double pivot = rows[k * n + k];
    product *= pivot;
    if (pivot == 0) continue;  // All below it are zeros, too.
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = rows[i * n + k] / pivot;
      rows[i * n + k] = factor;
      for (int64_t j = k + 1; j < n; ++j) rows[i * n + j] -= factor * rows[k * n + j];
    }
  }
  return product;
}

}  // namespace

/// The second output, the factors, is also what the elimination works on.
Status KernelDet(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  if (!IsFloat(x.dtype)) return UnsupportedDType(args.op, x.dtype);
  const int64_t n = x.shape.last();
  auto* rows = args.outputs[1].as<double>();
  for (int64_t i = 0; i < out.shape.elements(); ++i, rows += n * n) {
    Loader<double>(x.dtype)(x.data, i * n * n, 1, n * n, rows);
    const double product = Eliminate(rows, n);
    Storer<double>(out.dtype)(out.data, i, 1, &product);
  }
  return OkStatus();
}

}  // namespace skiff
