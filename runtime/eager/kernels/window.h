/// The windows of convolution and pooling along one spatial axis.
#pragma once

#include <cstdint>

#include "ops/shape_rules.h"

namespace skiff::eager {

struct Window {
  int64_t input = 0;   ///< Extent of the input.
  int64_t output = 0;  ///< Extent of the output.
  int64_t taps = 1;    ///< Extent of the kernel, without dilation.
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  /// The input position under a tap, unclipped.
  int64_t Position(int64_t out, int64_t tap) const { return out * stride - pad_begin + tap * dilation; }
  /// The same, -1 in the padding.
  int64_t Source(int64_t out, int64_t tap) const {
    const int64_t position = Position(out, tap);
    return position >= 0 && position < input ? position : -1;
  }
  /// Taps [FirstTap, EndTap) of an output position lie inside the input; there may be none.
  int64_t FirstTap(int64_t out) const {
    const int64_t before = -Position(out, 0);
    return before <= 0 ? 0 : (before + dilation - 1) / dilation;
  }
  int64_t EndTap(int64_t out) const { return TapsBefore(out, input); }
  /// Taps whose position lies before `limit`.
  int64_t TapsBefore(int64_t out, int64_t limit) const {
    const int64_t room = limit - Position(out, 0);
    const int64_t count = room <= 0 ? 0 : (room - 1) / dilation + 1;
    return count < taps ? count : taps;
  }
  /// The input position that a transposed convolution spreads to `out` through this tap; -1 where there is
  /// none.
  int64_t TransposedSource(int64_t out, int64_t tap) const {
    const int64_t position = out + pad_begin - tap * dilation;
    if (position < 0 || position % stride != 0) return -1;
    return position / stride < input ? position / stride : -1;
  }
};

/// Spatial axis 0 (height) or 1 (width) of an operator whose attributes name strides, dilations and pads.
template <class Attrs>
Window MakeWindow(const Attrs& attrs, int axis, const TensorView& x, const TensorView& out, int64_t taps) {
  Window window;
  window.input = x.shape[1 + axis];
  window.output = out.shape[1 + axis];
  window.taps = taps;
  window.stride = attrs.strides[axis];
  window.dilation = attrs.dilations[axis];
  AxisPads pads{attrs.pads[axis], attrs.pads[2 + axis]};
  if constexpr (requires { attrs.auto_pad; }) {
    pads =
        ResolvePads(attrs.auto_pad, window.input, taps, window.stride, window.dilation, pads.begin, pads.end);
  }
  window.pad_begin = pads.begin;
  window.pad_end = pads.end;
  return window;
}

}  // namespace skiff::eager
