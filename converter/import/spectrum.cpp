#include "import/spectrum.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace skiff {
namespace {

/// Computed in f64, from angles that integers reduce to one turn: there are only `length` of them.
template <class F>
TensorData Matrix(int64_t length, int64_t rows, int64_t columns, F&& f) {
  std::vector<float> turn;
  for (int64_t i = 0; i < std::min(length, rows * columns); ++i) {
    const double number = f(2 * std::numbers::pi * (static_cast<double>(i) / static_cast<double>(length)));
    turn.push_back(std::abs(number) < 1e-12 ? 0.0f : static_cast<float>(number));  // Pi is not exact.
  }
  TensorData matrix(DType::kF32, Shape{rows, columns});
  auto* out = static_cast<float*>(matrix.mutable_data());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column)
      *out++ = turn[static_cast<size_t>(row * column % length)];
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
