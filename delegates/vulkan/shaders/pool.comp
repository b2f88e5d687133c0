#version 450
#extension GL_GOOGLE_include_directive : require
// Max and average pooling, NHWC: one element.
#include "common.glsl"

layout(constant_id = 1) const bool kAverage = false;
/// Taps in the padding count for the average.
layout(constant_id = 2) const bool kCountPad = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint count;
  uint channels;
  int in_height;
  int in_width;
  uint out_height;
  uint out_width;
  int kernel_height;
  int kernel_width;
  int stride_y;
  int stride_x;
  int dilation_y;
  int dilation_x;
  int pad_top;
  int pad_left;
  int pad_bottom;
  int pad_right;
} p;

/// Taps that lie before `limit`.
int TapsBefore(int first, int taps, int dilation, int limit) {
  int room = limit - first;
  return room <= 0 ? 0 : min((room - 1) / dilation + 1, taps);
}

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint channel = i % p.channels;
  uint pixel = i / p.channels;
  int top = int(pixel / p.out_width % p.out_height) * p.stride_y - p.pad_top;
  int left = int(pixel % p.out_width) * p.stride_x - p.pad_left;
  int image = int(pixel / p.out_width / p.out_height);
  float result = kAverage ? 0.0 : -kInfinity;
  int inside = 0;
  int first_ky = TapsBefore(top, p.kernel_height, p.dilation_y, 0);
  int first_kx = TapsBefore(left, p.kernel_width, p.dilation_x, 0);
  for (int ky = first_ky; ky < p.kernel_height; ++ky) {
    int in_y = top + ky * p.dilation_y;
    if (in_y >= p.in_height) break;
    for (int kx = first_kx; kx < p.kernel_width; ++kx) {
      int in_x = left + kx * p.dilation_x;
      if (in_x >= p.in_width) break;
      float v = float(x[uint((image * p.in_height + in_y) * p.in_width + in_x) * p.channels + channel]);
      if (kAverage) {
        result += v;
      } else if (v > result || IsNaN(v)) {
        result = v;
      }
      ++inside;
    }
  }
  if (kAverage) {
    if (kCountPad) {
      inside = TapsBefore(top, p.kernel_height, p.dilation_y, p.in_height + p.pad_bottom) *
               TapsBefore(left, p.kernel_width, p.dilation_x, p.in_width + p.pad_right);
    }
    result /= float(max(inside, 1));
  }
  y[i] = T(result);
}
