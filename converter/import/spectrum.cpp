#include "import/spectrum.h"

#include <cmath>
#include <numbers>

namespace skiff {
namespace {

/// Computed in f64, from angles that integers reduce to one turn.
template <class F>
TensorData Matrix(int64_t length, int64_t rows, int64_t columns, F&& f) {
  TensorData matrix(DType::kF32, Shape{rows, columns});
  auto* out = static_cast<float*>(matrix.mutable_data());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const double turn = static_cast<double>(row * column % length) / static_cast<double>(length);
      const double number = f(2 * std::numbers::pi * turn);
      *out++ = std::abs(number) < 1e-12 ? 0.0f : static_cast<float>(number);  // Pi is not exact.
    }
  }
  return matrix;
}

}  // namespace

TensorData DftCosines(int64_t length, int64_t rows, int64_t columns) {
  return Matrix(length, rows, columns, [](double angle) { return std::cos(angle); });
}

TensorData DftMinusSines(int64_t length, int64_t rows, int64_t columns) {
  return Matrix(length, rows, columns, [](double angle) { return -std::sin(angle); });
}

}  // namespace skiff
