#version 450
#extension GL_GOOGLE_include_directive : require
// Convolution and transposed convolution of any groups, NHWC: an invocation computes one element. Weights lie as in the
// file: [output channel][kernel row][kernel column][input channel of the group].
#include "common.glsl"

layout(constant_id = 1) const bool kTransposed = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) readonly buffer W { T weights[]; };
layout(binding = 2) readonly buffer B { T bias[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint pixels;
  uint in_height;
  uint in_width;
  uint in_channels;
  uint out_height;
  uint out_width;
  uint out_channels;
  uint depth;
  uint group_outputs;
  uint kernel_height;
  uint kernel_width;
  int stride_y;
  int stride_x;
  int dilation_y;
  int dilation_x;
  int pad_top;
  int pad_left;
  float low;
  float high;
} p;

int Source(int position, int tap, int stride, int dilation, int pad, uint extent) {
  int at = kTransposed ? position + pad - tap * dilation : position * stride - pad + tap * dilation;
  if (kTransposed) {
    if (at < 0 || at % stride != 0) return -1;
    at /= stride;
  }
  return at >= 0 && at < int(extent) ? at : -1;
}

void main() {
  uint i = FlatIndex();
  uint channel = i % p.out_channels;
  uint pixel = i / p.out_channels;
  if (pixel >= p.pixels) return;
  int out_x = int(pixel % p.out_width);
  int out_y = int(pixel / p.out_width % p.out_height);
  uint image = pixel / p.out_width / p.out_height;
  uint group_first = channel / p.group_outputs * p.depth;
  float sum = float(bias[channel]);
  for (uint ky = 0; ky < p.kernel_height; ++ky) {
    int in_y = Source(out_y, int(ky), p.stride_y, p.dilation_y, p.pad_top, p.in_height);
    if (in_y < 0) continue;
    for (uint kx = 0; kx < p.kernel_width; ++kx) {
      int in_x = Source(out_x, int(kx), p.stride_x, p.dilation_x, p.pad_left, p.in_width);
      if (in_x < 0) continue;
      uint from = ((image * p.in_height + in_y) * p.in_width + in_x) * p.in_channels + group_first;
      uint weight = ((channel * p.kernel_height + ky) * p.kernel_width + kx) * p.depth;
      for (uint c = 0; c < p.depth; ++c) sum = fma(float(x[from + c]), float(weights[weight + c]), sum);
    }
  }
  y[i] = T(Clamped(sum, p.low, p.high));
}
