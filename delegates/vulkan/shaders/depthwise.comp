#version 450
#extension GL_GOOGLE_include_directive : require
// Depthwise convolution, NHWC: an invocation computes four channels of one output pixel. Weights are packed as
// [kernel row][kernel column][channel / 4] vec4.
#include "common.glsl"

layout(binding = 0) readonly buffer X { T4 x[]; };
layout(binding = 1) readonly buffer W { T4 weights[]; };
layout(binding = 2) readonly buffer B { T4 bias[]; };
layout(binding = 3) writeonly buffer Y { T4 y[]; };
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

void main() {
  uint blocks = p.out_channels / 4;
  uint i = FlatIndex();
  uint block = i % blocks;
  uint pixel = i / blocks;
  if (pixel >= p.pixels) return;
  int top = int(pixel / p.out_width % p.out_height) * p.stride_y - p.pad_top;
  int left = int(pixel % p.out_width) * p.stride_x - p.pad_left;
  uint image = pixel / p.out_width / p.out_height;
  vec4 sum = vec4(bias[block]);
  for (int ky = 0; ky < int(p.kernel_height); ++ky) {
    int in_y = top + ky * p.dilation_y;
    if (in_y < 0 || in_y >= int(p.in_height)) continue;
    for (int kx = 0; kx < int(p.kernel_width); ++kx) {
      int in_x = left + kx * p.dilation_x;
      if (in_x < 0 || in_x >= int(p.in_width)) continue;
      sum = fma(vec4(x[((image * p.in_height + in_y) * p.in_width + in_x) * blocks + block]),
                vec4(weights[(ky * p.kernel_width + kx) * blocks + block]), sum);
    }
  }
  y[i] = T4(Clamped(sum, p.low, p.high));
}
