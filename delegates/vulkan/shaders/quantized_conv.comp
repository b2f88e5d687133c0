#version 450
#extension GL_GOOGLE_include_directive : require
// Convolution, transposed convolution and product with a constant matrix of codes, NHWC. An invocation computes four output
// channels, of one group, of kTile neighbouring output pixels.
#include "common.glsl"
/// Output pixels of an invocation, at most 4.
layout(constant_id = 1) const uint kTile = 4;
#include "quantized_product.glsl"

ivec4 sums[4];

#if DOT
/// All pixels are computed alike, those of the padding from other codes, and not added.
void AddTap(ivec4 first, uint tap, uint block, uint blocks, ivec4 zero) {
  if (!kPoint && all(lessThan(first, ivec4(0)))) return;
  uvec4 from = uvec4(max(first, ivec4(0)));
  ivec4 products[4];
  ivec4 sums_of_x = ivec4(0);
  [[unroll]] for (int t = 0; t < 4; ++t) products[t] = ivec4(0);
  uint weight = tap * ((p.depth + 3) / 4) * blocks + block;
  for (uint c = 0; c < p.depth; c += 4) {
    uvec4 w = Multiplied(weights4[weight]);
    weight += blocks;
    [[unroll]] for (int t = 0; t < 4; ++t) {
      if (t >= kTile) break;
      uint v = XWordAt(from[t] + c);
      products[t] += ivec4(Dot(v, w.x), Dot(v, w.y), Dot(v, w.z), Dot(v, w.w));
      if (kHasZeros) sums_of_x[t] += SumOfLanes(v);
    }
  }
  ivec4 of_x_zero = XZero() * ivec4(weights4[SumsOfWeights(blocks) + tap * blocks + block]);
  [[unroll]] for (int t = 0; t < 4; ++t) {
    if (t >= kTile) break;
    if (kHasZeros) products[t] -= zero * sums_of_x[t];
    if (first[t] >= 0) sums[t] += products[t] - of_x_zero;
  }
}
#else
void AddTap(ivec4 first, uint tap, uint block, uint blocks, ivec4 zero) {
  uint weight = tap * ((p.depth + 3) / 4) * blocks + block;
  for (uint c = 0; c < p.depth; c += 4) {
    uvec4 words = weights4[weight];
    weight += blocks;
    ivec4 w0 = LanesOf(words.x, kW) - zero.x;
    ivec4 w1 = LanesOf(words.y, kW) - zero.y;
    ivec4 w2 = LanesOf(words.z, kW) - zero.z;
    ivec4 w3 = LanesOf(words.w, kW) - zero.w;
    [[unroll]] for (int t = 0; t < 4; ++t) {
      if (t >= kTile) break;
      if (first[t] < 0) continue;
      ivec4 v = StepsAt(uint(first[t]) + c);
      sums[t] += ivec4(Dot(v, w0), Dot(v, w1), Dot(v, w2), Dot(v, w3));
    }
  }
}
#endif

void main() {
  uint blocks = p.out_channels / 4;
  uint i = FlatIndex();
  uint block = i % blocks;
  uint pixel = i / blocks * kTile;
  if (pixel >= p.pixels) return;
  ivec4 zero = ivec4(WZeroOf(block * 4), WZeroOf(block * 4 + 1), WZeroOf(block * 4 + 2), WZeroOf(block * 4 + 3));
  [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = ivec4(0);
  int group_first = int(block * 4 / p.group_outputs * p.depth);
  for (uint ky = 0; ky < p.kernel_height; ++ky) {
    for (uint kx = 0; kx < p.kernel_width; ++kx) {
      ivec4 first = ivec4(-1);
      [[unroll]] for (uint t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        int at = FirstChannel(min(pixel + t, p.pixels - 1), ky, kx);
        first[t] = at < 0 ? -1 : at + group_first;
      }
      AddTap(first, ky * p.kernel_width + kx, block, blocks, zero);
    }
  }
  for (uint t = 0; t < kTile && pixel + t < p.pixels; ++t) {
    uint to = (pixel + t) * blocks + block;
    ivec4 s = sums[t];
    WriteFour(s, block * 4, to);
  }
}
