/// Interpolation along one axis, shared by the kernels that read an image between its pixels.
#pragma once

#include <cmath>
#include <cstdint>

#include "eager/kernels/dispatch.h"

namespace skiff::eager {

/// The input positions that one output position mixes along one axis.
struct Taps {
  int count = 1;
  int64_t index[4] = {};
  double weight[4] = {1, 0, 0, 0};
};

/// Keys' cubic convolution kernel (1981) with parameter a, at a distance from the sampled position.
inline double CubicWeight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
}

/// The neighbours of x, which fits into an integer, with their weights, not clipped to the input: two
/// (linear) or four (cubic).
inline Taps LinearTaps(double x) {
  const auto towards_zero = static_cast<int64_t>(x);
  const int64_t first = towards_zero - (static_cast<double>(towards_zero) > x ? 1 : 0);
  const double rest = x - static_cast<double>(first);
  return {2, {first, first + 1}, {1 - rest, rest}};
}
inline Taps CubicTaps(double x, double a) {
  Taps taps;
  taps.count = 4;
  const double floor = std::floor(x);
  for (int i = 0; i < 4; ++i) {
    taps.index[i] = static_cast<int64_t>(floor) + i - 1;
    taps.weight[i] = CubicWeight(x - floor + 1 - i, a);
  }
  return taps;
}

/// Mixes the channels of NHWC pixels and stores them at element `out` of the output.
class PixelMixer {
 public:
  PixelMixer(const TensorView& x, const TensorView& out)
      : x_(x), out_(out), load_(Loader<double>(x.dtype)), store_(Storer<double>(x.dtype)) {}

  /// `image` is the element where the image begins.
  void Mix(int64_t image, const Taps& row, const Taps& column, int64_t out) const {
    const int64_t channels = x_.shape[3];
    double sums[kChunk];
    double values[kChunk];
    for (int64_t c = 0; c < channels; c += kChunk) {
      const int64_t count = channels - c < kChunk ? channels - c : kChunk;
      for (int64_t i = 0; i < count; ++i) sums[i] = 0;
      for (int j = 0; j < row.count; ++j) {
        for (int k = 0; k < column.count; ++k) {
          const double weight = row.weight[j] * column.weight[k];
          // A neighbour without weight must not turn an infinity into a NaN.
          if (weight == 0) continue;
          load_(x_.data, image + (row.index[j] * x_.shape[2] + column.index[k]) * channels + c, 1, count,
                values);
          for (int64_t i = 0; i < count; ++i) sums[i] += weight * values[i];
        }
      }
      store_(out_.data, out + c, count, sums);
    }
  }

 private:
  const TensorView& x_;
  const TensorView& out_;
  LoadFn<double> load_;
  StoreFn<double> store_;
};

}  // namespace skiff::eager
