/// Where the pixels of a resized image lie in the input, along one axis.
#pragma once

#include <cstdint>

#include "eager/kernels/interpolate.h"
#include "ops/op.h"

namespace skiff::eager {

struct ResizeAxis {
  int64_t input = 1;
  int64_t output = 1;
  double scale = 0;  ///< As given, or 0: output / input.
  double roi_begin = 0;
  double roi_end = 1;

  static ResizeAxis Of(const KernelArgs& args, int axis) {
    const auto& attrs = args.As<ResizeAttrs>();
    return {args.inputs[0].shape[1 + axis], args.outputs[0].shape[1 + axis],
            args.Has(2) ? static_cast<double>(args.inputs[2].as<const float>()[axis]) : 0.0,
            static_cast<double>(axis == 0 ? attrs.roi_top : attrs.roi_left),
            static_cast<double>(axis == 0 ? attrs.roi_bottom : attrs.roi_right)};
  }

  double Scale() const {
    return scale > 0 ? scale : static_cast<double>(output) / static_cast<double>(input);
  }

  /// An output position in input coordinates.
  double Source(ResizeCoordinates coordinates, int64_t out) const {
    const auto position = static_cast<double>(out);
    const auto in_extent = static_cast<double>(input);
    const auto out_extent = static_cast<double>(output);
    // Multiplied before divided: a quotient that is an integer comes out exact.
    const auto divided = [&](double x) { return scale > 0 ? x / scale : x * in_extent / out_extent; };
    switch (coordinates) {
      case ResizeCoordinates::kAsymmetric:
        return divided(position);
      case ResizeCoordinates::kAlignCorners:
        return output == 1 ? 0.0 : position * (in_extent - 1) / (out_extent - 1);
      case ResizeCoordinates::kPytorchHalfPixel:
        return output == 1 ? 0.0 : divided(position + 0.5) - 0.5;
      case ResizeCoordinates::kHalfPixelSymmetric: {
        // The centre of the output lies over the centre of the input although the extent was rounded.
        const double rounding = scale > 0 ? out_extent / (scale * in_extent) : 1.0;
        return in_extent / 2 * (1 - rounding) + divided(position + 0.5) - 0.5;
      }
      case ResizeCoordinates::kTfCropAndResize:
        if (output == 1) return 0.5 * (roi_begin + roi_end) * (in_extent - 1);
        return roi_begin * (in_extent - 1) +
               position * (roi_end - roi_begin) * (in_extent - 1) / (out_extent - 1);
      case ResizeCoordinates::kTfHalfPixelForNn:
        return divided(position + 0.5);
      case ResizeCoordinates::kHalfPixel:
        break;
    }
    return divided(position + 0.5) - 0.5;
  }

  /// Whether a source position has no value but the extrapolated one.
  bool IsExtrapolated(ResizeCoordinates coordinates, double source) const {
    return coordinates == ResizeCoordinates::kTfCropAndResize &&
           !(source >= 0 && source <= static_cast<double>(input - 1));
  }

  /// Kept where conversions to integers are safe; nothing there is inside the input.
  static double Bounded(double source) {
    constexpr double kFar = 1e15;
    return source < -kFar ? -kFar : (source < kFar ? source : kFar);
  }
};

/// The input positions that an output position mixes, clipped to the input. None where the position is
/// extrapolated.
Taps TapsOf(const ResizeAxis& axis, const ResizeAttrs& attrs, int64_t out);

/// Resize2d with attribute `antialias` in the modes linear and cubic.
void ResizeAntialiased(const KernelArgs& args);

/// Stores the extrapolation value in all channels of one output pixel.
void StoreExtrapolated(const KernelArgs& args, int64_t out);

}  // namespace skiff::eager
