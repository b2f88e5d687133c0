/// The range of numbers that codes of a value stand for.
#pragma once

#include <string>

#include "graph/quantization.h"
#include "quantize/observer.h"

namespace skiff {

enum class RangeMethod {
  kMinMax,         ///< All that was seen.
  kMovingAverage,  ///< Of the ends, from call to call (Jacob et al., 2018).
  kPercentile,     ///< All but a share of the numbers at each end.
  kMse,            ///< The least mean square error of the codes, limits included (Nagel et al., 2021).
  kEntropy,        ///< The least divergence of the codes' distribution (Migacz, 2017).
};

/// Holds 0.
struct Range {
  double low = 0;
  double high = 0;

  bool operator==(const Range&) const = default;
};

/// Both.
Range Union(const Range& a, const Range& b);

/// `levels`: how many codes there are; `percentile`: per cent of the numbers that the range has, at each end.
/// Where that is much better for the numbers, an end is moved by less than a step.
Range ChooseRange(const Observer& seen, RangeMethod method, int levels, double percentile);

/// Codes over the whole range: of 8 bits i8 with a zero point, of 16 bits i16 around 0.
QuantizationPtr QuantizationFor(const Range& range, DType dtype);

/// The mean square difference between the numbers and what their codes stand for.
double SquareError(const Observer& seen, const Range& range, int levels);

/// Share of the numbers beyond the range.
double ClippedShare(const Observer& seen, const Range& range);

}  // namespace skiff
