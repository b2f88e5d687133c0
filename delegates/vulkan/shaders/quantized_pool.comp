#version 450
#extension GL_GOOGLE_include_directive : require
// Max and average pooling of codes, NHWC: four neighbouring elements of the output.
#include "common.glsl"
#include "codes.glsl"

layout(constant_id = 1) const bool kAverage = false;
/// Taps in the padding count for the average.
layout(constant_id = 2) const bool kCountPad = false;
layout(constant_id = 3) const uint kX = kI8;

layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) writeonly buffer Y { uint y[]; };
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
  vec2 factor;  ///< Steps of y that a step of x is.
  int x_zero;
  int y_zero;
  int low;  ///< Of codes.
  int high;
} p;

/// Taps that lie before `limit`.
int TapsBefore(int first, int taps, int dilation, int limit) {
  int room = limit - first;
  return room <= 0 ? 0 : min((room - 1) / dilation + 1, taps);
}

int Element(uint i) {
  uint channel = i % p.channels;
  uint pixel = i / p.channels;
  int top = int(pixel / p.out_width % p.out_height) * p.stride_y - p.pad_top;
  int left = int(pixel % p.out_width) * p.stride_x - p.pad_left;
  int image = int(pixel / p.out_width / p.out_height);
  int sum = 0;
  int highest = -1024;
  int inside = 0;
  int first_ky = TapsBefore(top, p.kernel_height, p.dilation_y, 0);
  int first_kx = TapsBefore(left, p.kernel_width, p.dilation_x, 0);
  for (int ky = first_ky; ky < p.kernel_height; ++ky) {
    int in_y = top + ky * p.dilation_y;
    if (in_y >= p.in_height) break;
    for (int kx = first_kx; kx < p.kernel_width; ++kx) {
      int in_x = left + kx * p.dilation_x;
      if (in_x >= p.in_width) break;
      uint from = uint((image * p.in_height + in_y) * p.in_width + in_x) * p.channels + channel;
      int step = LaneOf(x[from >> 2], from & 3u, kX) - p.x_zero;
      sum += step;
      highest = max(highest, step);
      ++inside;
    }
  }
  if (!kAverage) {
    // The largest of no numbers is below all codes.
    return inside == 0 ? p.low : CodeOf(ProductOf(highest, p.factor), p.y_zero, p.low, p.high);
  }
  if (kCountPad) {
    inside = TapsBefore(top, p.kernel_height, p.dilation_y, p.in_height + p.pad_bottom) *
             TapsBefore(left, p.kernel_width, p.dilation_x, p.in_width + p.pad_right);
  }
  float taps = float(max(inside, 1));
  vec2 total = ProductOf(sum, p.factor);
  float mean = total.x / taps;
  float leading = LeadingOf(mean);
  precise float over = (total.x - leading * taps) - (mean - leading) * taps;
  precise float rest = (over + total.y) / taps;
  return CodeOf(vec2(mean, rest), p.y_zero, p.low, p.high);
}

void main() {
  uint i = FlatIndex();
  if (4 * i >= p.count) return;
  uint word = 0;
  for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) word |= (uint(Element(4 * i + k)) & 255u) << (8 * k);
  y[i] = word;
}
