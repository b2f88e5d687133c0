/// How far two tensors are apart, and how far they may be.
#pragma once

#include <span>
#include <string>

#include "graph/graph.h"

namespace skiff {

/// Element i may differ by atol + rtol * |expected[i]| + of_largest * (the largest finite |expected|). NaN
/// must meet NaN and an infinity the same infinity, whatever the tolerance.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
  double of_largest = 0;
};

/// What decides how precise a whole net is.
struct TakesPart {
  bool f16 = false;
  bool quantized = false;
};

/// Whole nets, before anything is measured (docs/numerics.md): f32 and f64 2e-5 of the largest element, 1e-2
/// where f16 takes part, 1e-1 where quantised tensors do, of which one code's other neighbour spreads from
/// layer to layer, but 1e-2 for results of 16 bits, whose units are smaller; integers and booleans exact, but
/// for bytes and 16 bits of nets with quantised tensors.
Tolerance DefaultTolerance(DType dtype, const TakesPart& takes_part);

/// "2e-05 of the largest element", "atol 0.001, rtol 0", "exact".
std::string Describe(const Tolerance& tolerance);

struct Comparison {
  bool ok = true;
  std::string problem;  ///< Why the tensors cannot be compared element by element; "" when they can.
  int64_t elements = 0;
  int64_t outside = 0;   ///< Elements beyond the tolerance.
  double largest = 0;    ///< The largest finite |expected|.
  double max_error = 0;  ///< Infinite where NaN or infinities do not meet.
  /// The element with the largest error, of those beyond the tolerance where there are some; -1 when all are
  /// equal.
  int64_t worst = -1;
  double worst_expected = 0;
  double worst_got = 0;
  double allowed = 0;  ///< Of the element for which most is.
  double share = 0;    ///< The largest error / what is allowed there; above 1 where an element is beyond it.

  /// max_error as a share of `largest`; max_error itself where everything expected is 0.
  double relative() const { return largest > 0 ? max_error / largest : max_error; }
};

/// The largest finite magnitude; 0 where there is none.
double LargestFinite(std::span<const double> elements);

/// Dtypes must be equal, or stand for real numbers on both sides: floats, and quantised integers. Shapes must
/// be equal.
Comparison Compare(const TensorData& expected, const TensorData& got, const Tolerance& tolerance);
/// The same with a limit for each element.
Comparison CompareWithin(const TensorData& expected, const TensorData& got, std::span<const double> allowed);

}  // namespace skiff
