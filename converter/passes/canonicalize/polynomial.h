/// Elementwise arithmetic read as a polynomial in two values, so that every order in which exporters write an
/// activation looks the same.
#pragma once

#include <array>
#include <optional>

#include "graph/graph.h"

namespace skiff {

/// Sum of coefficients[i][j] * x^i * e^j.
struct Polynomial {
  static constexpr size_t kMaxX = 3;
  static constexpr size_t kMaxE = 1;
  std::array<std::array<double, kMaxE + 1>, kMaxX + 1> coefficients{};

  static Polynomial Constant(double number);
  static Polynomial X();
  static Polynomial E();
};

/// How far a coefficient may be from a number, relative to it. Constants are rounded to the graph's dtype,
/// once or, where two are multiplied, twice; and some exporters cut digits. But what f16 holds exactly was
/// not rounded, and its neighbours are other numbers.
double CoefficientTolerance(DType dtype, double wanted);

/// Whether the coefficients are these, up to the rounding of their dtype.
bool IsClose(const Polynomial& given, const Polynomial& wanted, DType dtype);

/// `value` as a polynomial in x and e (kNoValue: in x alone); nothing when another operator is in between,
/// the degree is too high, or a constant is more than one number. Nothing, too, where more values would be
/// read than are left: on the way to a value each of ten sums may use the one before twice.
std::optional<Polynomial> ReadPolynomial(const Graph& graph, ValueId value, ValueId x, ValueId e,
                                         int& reads_left);

}  // namespace skiff
