// What the shaders quantized_conv, quantized_depthwise and quantized_grouped_conv share: sums of
// (x - zero point)(w - zero point) in 32 bits, scaled and rounded once.
//
// A word of weights holds four input channels of one output channel, those behind the last equal to the zero point:
// [kernel row][kernel column][input channel / 4][output channel, padded to 4]. With DOT, the sums of (w - zero point)
// over the input channels follow: [kernel row][kernel column][output channel, padded to 4].
#include "codes.glsl"

/// What the operands are.
layout(constant_id = 2) const uint kX = kI8;
layout(constant_id = 3) const uint kW = kI8;
layout(constant_id = 4) const uint kY = kI8;
layout(constant_id = 5) const bool kTransposed = false;
/// Words of x begin where those of input channels do.
layout(constant_id = 6) const bool kAligned = false;
/// 1: kPoint; the others are for integer_dot.glsl.
layout(constant_id = 7) const uint kHints = 0;
/// A 1x1 kernel with stride 1 and no padding: a matrix product.
const bool kPoint = (kHints & 1u) != 0u;

layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) readonly buffer W { uint weights[]; };
layout(binding = 1) readonly buffer W4 { uvec4 weights4[]; };
/// Of an output channel: the bias, in units of the products; the factor from these units to codes or real numbers, as a
/// sum; what of the bias is no whole unit, in codes or real numbers. Then the zero points of all channels' weights.
layout(binding = 2) readonly buffer P { uvec4 parameters[]; };
layout(binding = 2) readonly buffer Z { int zeros[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(binding = 3) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint pixels;  ///< Of the output, over all images.
  uint in_height;
  uint in_width;
  uint in_channels;
  uint out_height;
  uint out_width;
  uint out_channels;
  uint depth;          ///< Input channels of a group.
  uint group_outputs;  ///< Output channels of a group.
  uint kernel_height;
  uint kernel_width;
  int stride_y;
  int stride_x;
  int dilation_y;
  int dilation_x;
  int pad_top;
  int pad_left;
  uint x_last;  ///< The last word of x.
  int x_zero;
  int y_zero;
  int low;  ///< Of codes.
  int high;
  float real_low;
  float real_high;
} p;

/// The input position under a tap; -1 outside of the input.
int Source(int position, int tap, int stride, int dilation, int pad, uint extent) {
  int at = kTransposed ? position + pad - tap * dilation : position * stride - pad + tap * dilation;
  if (kTransposed) {
    if (at < 0 || at % stride != 0) return -1;
    at /= stride;
  }
  return at >= 0 && at < int(extent) ? at : -1;
}

/// Where the input channels begin under a tap of an output pixel; -1 in the padding, whose real numbers are 0.
int FirstChannel(uint pixel, uint ky, uint kx) {
  if (kPoint) return int(pixel * p.in_channels);
  int out_x = int(pixel % p.out_width);
  int out_y = int(pixel / p.out_width % p.out_height);
  uint image = pixel / p.out_width / p.out_height;
  int in_y = Source(out_y, int(ky), p.stride_y, p.dilation_y, p.pad_top, p.in_height);
  int in_x = Source(out_x, int(kx), p.stride_x, p.dilation_x, p.pad_left, p.in_width);
  if (in_y < 0 || in_x < 0) return -1;
  return int(((image * p.in_height + in_y) * p.in_width + in_x) * p.in_channels);
}

/// Four neighbouring codes of x.
uint WordAt(uint first) {
  uint word = x[first >> 2];
  if (!kAligned) {
    uint shift = (first & 3u) * 8;
    if (shift != 0u) word = word >> shift | x[min((first >> 2) + 1, p.x_last)] << (32 - shift);
  }
  return word;
}
/// Less their zero point.
ivec4 StepsAt(uint first) { return LanesOf(WordAt(first), kX) - p.x_zero; }

int ZeroOf(uint channel) { return zeros[(p.out_channels + 3) / 4 * 16 + channel]; }

#if DOT
#include "integer_dot.glsl"
#else
int WZeroOf(uint channel) { return ZeroOf(channel); }
int Dot(ivec4 a, ivec4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
#endif

vec2 Scaled(int sum, uvec4 of) {
  return SumOf(ProductOf(sum + int(of.x), uintBitsToFloat(of.yz)), vec2(uintBitsToFloat(of.w), 0.0));
}
int Finished(int sum, uvec4 of) { return CodeOf(Scaled(sum, of), p.y_zero, p.low, p.high); }
float FinishedReal(int sum, uvec4 of) {
  vec2 scaled = Scaled(sum, of);
  return Clamped(scaled.x + scaled.y, p.real_low, p.real_high);
}

/// The sums of four output channels to elements 4 * `to` and on. A loop, because what it holds is long.
void WriteFour(ivec4 sum, uint channel, uint to) {
  uint word = 0;
  for (uint c = 0; c < 4; ++c) {
    uvec4 of = parameters[channel + c];
    if (kY == kReals) {
      y[to * 4 + c] = T(FinishedReal(sum[c], of));
    } else {
      word |= (uint(Finished(sum[c], of)) & 255u) << (8 * c);
    }
  }
  if (kY != kReals) y_word[to] = word;
}
