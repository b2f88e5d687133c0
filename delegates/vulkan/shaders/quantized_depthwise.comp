#version 450
#extension GL_GOOGLE_include_directive : require
// Depthwise convolution of codes, NHWC, with a multiple of four channels: four of one output pixel.
#include "common.glsl"
#include "quantized_product.glsl"

void main() {
  uint blocks = p.out_channels / 4;
  uint i = FlatIndex();
  uint block = i % blocks;
  uint pixel = i / blocks;
  if (pixel >= p.pixels) return;
  ivec4 zero = ivec4(ZeroOf(block * 4), ZeroOf(block * 4 + 1), ZeroOf(block * 4 + 2), ZeroOf(block * 4 + 3));
  ivec4 sum = ivec4(0);
  for (uint ky = 0; ky < p.kernel_height; ++ky) {
    for (uint kx = 0; kx < p.kernel_width; ++kx) {
      int first = FirstChannel(pixel, ky, kx);
      if (first < 0) continue;
      uvec4 words = weights4[(ky * p.kernel_width + kx) * blocks + block];
      ivec4 w = ivec4(LaneOf(words.x, 0, kW), LaneOf(words.y, 0, kW), LaneOf(words.z, 0, kW), LaneOf(words.w, 0, kW));
      sum += StepsAt(uint(first) + block * 4) * (w - zero);
    }
  }
  WriteFour(sum, block * 4, i);
}
