/// Where GridSample reads, as PyTorch's grid_sample and the ONNX operator GridSample define it.
#pragma once

#include <cmath>

#include "eager/kernels/interpolate.h"
#include "ops/attrs.h"

namespace skiff::eager {

inline constexpr double kGridCubicA = -0.75;

/// One axis of the picture that the grid's coordinates lie on.
struct GridAxis {
  int64_t extent;
  GridSampleMode mode;
  GridSamplePadding padding;
  bool align_corners;

  /// A grid coordinate in [-1, 1] in pixels.
  double Denormalize(double g) const {
    const auto length = static_cast<double>(extent);
    return align_corners ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
  }

  /// Mirrored at the centres of the border pixels, or at their outer edges, as often as needed.
  double Reflect(double x) const {
    const double low = align_corners ? 0.0 : -0.5;
    const double span = static_cast<double>(extent) - (align_corners ? 1.0 : 0.0);
    if (span <= 0) return 0.0;
    const double phase = std::fmod(std::fabs(x - low), 2 * span);
    return low + (phase > span ? 2 * span - phase : phase);
  }

  double Clip(double x) const {
    const double last = static_cast<double>(extent - 1);
    return x < 0 ? 0.0 : (x > last ? last : x);
  }

  /// Where a tap reads; -1: outside, which reads 0.
  int64_t Place(int64_t i) const {
    if (i >= 0 && i < extent) return i;
    switch (padding) {
      case GridSamplePadding::kZeros:
        return -1;
      case GridSamplePadding::kBorder:
        return i < 0 ? 0 : extent - 1;
      case GridSamplePadding::kReflection:
        break;
    }
    return static_cast<int64_t>(Clip(Reflect(static_cast<double>(i))));
  }

  /// Of a coordinate that is a number. A tap without a place keeps position 0 and weight 0.
  Taps TapsOf(double g) const {
    // Infinity is as far away as anything else.
    constexpr double kFar = 1e15;
    double x = Denormalize(g < -kFar ? -kFar : (g > kFar ? kFar : g));
    // A reflected coordinate sees the same image; far away it also saves the precision of the neighbours.
    if (padding == GridSamplePadding::kReflection) x = Reflect(x);
    if (padding != GridSamplePadding::kZeros && mode != GridSampleMode::kCubic) x = Clip(x);
    // Nothing of the image is in reach beyond this distance, and the positions of taps fit in integers.
    constexpr double kReach = 4;
    const double far = static_cast<double>(extent) + kReach;
    x = x < -kReach ? -kReach : (x > far ? far : x);
    Taps taps;
    if (mode == GridSampleMode::kNearest) {
      taps.index[0] = static_cast<int64_t>(std::nearbyint(x));
    } else {
      taps = mode == GridSampleMode::kCubic ? CubicTaps(x, kGridCubicA) : LinearTaps(x);
    }
    for (int i = 0; i < taps.count; ++i) {
      const int64_t place = Place(taps.index[i]);
      if (place < 0) taps.weight[i] = 0;
      taps.index[i] = place < 0 ? 0 : place;
    }
    return taps;
  }
};

}  // namespace skiff::eager
