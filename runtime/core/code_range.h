/// The integers that may stand for real numbers, and how a real number becomes one.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "skiff/tensor.h"

namespace skiff {

struct CodeRange {
  DType dtype;
  int64_t low;
  int64_t high;
};
/// Null for a dtype that cannot be quantised.
const CodeRange* CodeRangeOf(DType dtype);

/// The nearest whole number, half to even. What is as near to half way as the error of f64 is half way: a tie
/// is not lost where a scale or a quotient is no binary fraction.
inline double NearestWhole(double steps) {
  constexpr double kUnits = 8 * std::numeric_limits<double>::epsilon();
  const double tie = std::floor(steps) + 0.5;
  return std::nearbyint(std::abs(steps - tie) <= std::abs(tie) * kUnits ? tie : steps);
}

/// Rounds once, half to even, into a range.
class CodeRounder {
 public:
  explicit CodeRounder(const CodeRange& range)
      : low_(static_cast<double>(range.low)), high_(static_cast<double>(range.high)) {}
  /// `steps`: the real number over the scale. NaN becomes the zero point.
  int64_t operator()(double steps, int32_t zero_point) const {
    if (std::isnan(steps)) return zero_point;
    const double code = NearestWhole(steps) + zero_point;
    return static_cast<int64_t>(code < low_ ? low_ : (code > high_ ? high_ : code));
  }

 private:
  double low_;
  double high_;
};

/// The codes of 8 bits of a tensor with one scale that a clamp of real numbers leaves; it may have no bounds.
struct CodeLimits {
  int32_t low = 0;
  int32_t high = 0;
};
CodeLimits LimitsOf(const TensorView& view, float min, float max);

}  // namespace skiff
