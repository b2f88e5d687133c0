/// What the shaders of convolutions and products are told of one.
#pragma once

#include "delegates/vulkan/lower/lowerings.h"
#include "ops/shape_rules.h"

namespace skiff::vulkan {

/// The push constants of the shaders conv, depthwise and grouped_conv.
struct ConvolutionPush {
  uint32_t pixels = 0;
  uint32_t in_height = 1;
  uint32_t in_width = 1;
  uint32_t in_channels = 0;
  uint32_t out_height = 1;
  uint32_t out_width = 1;
  uint32_t out_channels = 0;
  uint32_t depth = 0;
  uint32_t group_outputs = 0;
  uint32_t kernel_height = 1;
  uint32_t kernel_width = 1;
  int32_t stride_y = 1;
  int32_t stride_x = 1;
  int32_t dilation_y = 1;
  int32_t dilation_x = 1;
  int32_t pad_top = 0;
  int32_t pad_left = 0;
  float low = -kInfinity;
  float high = kInfinity;
  // Of the shader conv alone.
  uint32_t out_first = 0;  ///< Where out_channels begin among those of a pixel, which are out_step.
  uint32_t out_step = 0;
};

inline uint32_t U32(int64_t value) { return static_cast<uint32_t>(value); }

/// kUnsupported: see ReachFits().
template <class Attrs>
Result<ConvolutionPush> DescribeConvolution(const Emitter& emit) {
  const auto& attrs = emit.As<Attrs>();
  const Shape& x = emit.in(0).shape;
  const Shape& weights = emit.in(1).shape;
  const Shape& y = emit.out(0).shape;
  AxisPads pads[2] = {{attrs.pads[0], attrs.pads[2]}, {attrs.pads[1], attrs.pads[3]}};
  if constexpr (requires { attrs.auto_pad; }) {
    for (int axis = 0; axis < 2; ++axis) {
      pads[axis] = ResolvePads(attrs.auto_pad, x[1 + axis], weights[1 + axis], attrs.strides[axis],
                               attrs.dilations[axis], pads[axis].begin, pads[axis].end);
    }
  }
  for (int axis = 0; axis < 2; ++axis) {
    if (!ReachFits(weights[1 + axis], attrs.dilations[axis], pads[axis].begin, pads[axis].end))
      return Refuse();
  }
  ConvolutionPush push;
  push.pixels = U32(y.ElementsBetween(0, 3));
  push.in_height = U32(x[1]);
  push.in_width = U32(x[2]);
  push.in_channels = U32(x[3]);
  push.out_height = U32(y[1]);
  push.out_width = U32(y[2]);
  push.out_channels = U32(y[3]);
  push.depth = U32(weights[3]);
  push.group_outputs = U32(y[3] / attrs.groups);
  push.kernel_height = U32(weights[1]);
  push.kernel_width = U32(weights[2]);
  push.stride_y = static_cast<int32_t>(attrs.strides[0]);
  push.stride_x = static_cast<int32_t>(attrs.strides[1]);
  push.dilation_y = static_cast<int32_t>(attrs.dilations[0]);
  push.dilation_x = static_cast<int32_t>(attrs.dilations[1]);
  push.pad_top = static_cast<int32_t>(pads[0].begin);
  push.pad_left = static_cast<int32_t>(pads[1].begin);
  push.low = attrs.min;
  push.high = attrs.max;
  return push;
}

/// A 1x1 kernel with stride 1 and no padding: a matrix product.
inline bool IsPoint(const ConvolutionPush& push) {
  return push.kernel_height == 1 && push.kernel_width == 1 && push.stride_y == 1 && push.stride_x == 1 &&
         push.pad_top == 0 && push.pad_left == 0 && push.in_height == push.out_height &&
         push.in_width == push.out_width;
}

/// Of the loops over the taps of an output pixel, from those of a tap.
inline int64_t RoundsOf(const ConvolutionPush& push, int64_t of_tap) {
  return push.kernel_height * (2 + push.kernel_width * of_tap);
}
/// Of a tap, where its loop takes `step` input channels at a time.
inline int64_t RoundsOfTap(const ConvolutionPush& push, int64_t step) {
  return 2 + (push.depth + step - 1) / step;
}

/// A product with rows of `depth` elements is a 1x1 convolution over as many pixels.
inline ConvolutionPush DescribeProduct(int64_t rows, int64_t depth, int64_t columns, float low, float high) {
  ConvolutionPush push;
  push.pixels = U32(rows);
  push.in_channels = push.depth = U32(depth);
  push.out_channels = push.group_outputs = U32(columns);
  push.low = low;
  push.high = high;
  return push;
}

/// Rows times input 1, [channel][depth] or, `channels_last`, [depth][channel], where the file has it as codes
/// of 4 bits. kUnsupported: it has not, or their scales are none for the shader.
Status EmitStoredProduct(Emitter& emit, const ConvolutionPush& of, bool channels_last);

}  // namespace skiff::vulkan
