#version 450
#extension GL_GOOGLE_include_directive : require
// Convolution, transposed convolution and product with a constant matrix of codes, NHWC, with any number of channels and
// groups: four neighbouring elements of the output, each on its own.
#include "common.glsl"
#include "quantized_product.glsl"

int SumOf(uint pixel, uint channel, int zero) {
  uint padded = (p.out_channels + 3) / 4 * 4;
  uint depth_words = (p.depth + 3) / 4;
  uint group_first = channel / p.group_outputs * p.depth;
  int sum = 0;
  for (uint ky = 0; ky < p.kernel_height; ++ky) {
    for (uint kx = 0; kx < p.kernel_width; ++kx) {
      int first = FirstChannel(pixel, ky, kx);
      if (first < 0) continue;
      uint from = uint(first) + group_first;
      uint tap = ky * p.kernel_width + kx;
      uint weight = tap * depth_words * padded + channel;
#if DOT
      sum -= XZero() * int(weights[SumsOfWeights(padded) + tap * padded + channel]);
#endif
      for (uint c = 0; c < p.depth; c += 4) {
#if DOT
        uint v = XWordAt(from + c);
        sum += Dot(v, Multiplied(weights[weight]));
        if (kHasZeros) sum -= zero * SumOfLanes(v);
#else
        sum += Dot(StepsAt(from + c), LanesOf(weights[weight], kW) - zero);
#endif
        weight += padded;
      }
    }
  }
  return sum;
}

void main() {
  uint i = FlatIndex();
  uint count = p.pixels * p.out_channels;
  if (4 * i >= count) return;
  uint word = 0;
  for (uint k = 0; k < 4 && 4 * i + k < count; ++k) {
    uint channel = (4 * i + k) % p.out_channels;
    uvec4 of = parameters[channel];
    int sum = SumOf((4 * i + k) / p.out_channels, channel, WZeroOf(channel));
    if (kY == kReals) {
      y[4 * i + k] = T(FinishedReal(sum, of));
    } else {
      word |= (uint(Finished(sum, of)) & 255u) << (8 * k);
    }
  }
  if (kY != kReals) y_word[i] = word;
}
