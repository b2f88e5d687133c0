#version 450
#extension GL_GOOGLE_include_directive : require
// Resize of height and width, NHWC, one element. Which pixels an output row or column mixes, and by how much, comes from a
// table that the host computed: kTaps pairs (index, weight) for each row, then for each column.
#include "common.glsl"

layout(constant_id = 1) const uint kTaps = 1;
/// Elements: 0 floats in the storage type, 1 32-bit words, kBytes bytes; the others with one tap.
layout(constant_id = 2) const uint kWords = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) readonly buffer Table { uvec2 table[]; };
layout(binding = 2) writeonly buffer Y { T y[]; };
layout(binding = 2) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint channels;
  uint in_height;
  uint in_width;
  uint out_height;
  uint out_width;
} p;

uint Nearest(uint i) {
  uint pixel = i / p.channels;
  uint image = pixel / p.out_width / p.out_height * p.in_height;
  uint row = table[pixel / p.out_width % p.out_height].x;
  return ((image + row) * p.in_width + table[p.out_height + pixel % p.out_width].x) * p.channels + i % p.channels;
}

void main() {
  uint i = FlatIndex();
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) word |= BYTE_OF(x_word, Nearest(4 * i + k)) << (8 * k);
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  if (kTaps == 1) {
    if (kWords == 0) {
      y[i] = x[Nearest(i)];
    } else {
      y_word[i] = x_word[Nearest(i)];
    }
    return;
  }
  uint channel = i % p.channels;
  uint pixel = i / p.channels;
  uint row = pixel / p.out_width % p.out_height * kTaps;
  uint column = (p.out_height + pixel % p.out_width) * kTaps;
  uint image = pixel / p.out_width / p.out_height * p.in_height;
  float sum = 0.0;
  for (uint j = 0; j < kTaps; ++j) {
    float row_weight = uintBitsToFloat(table[row + j].y);
    for (uint k = 0; k < kTaps; ++k) {
      float weight = row_weight * uintBitsToFloat(table[column + k].y);
      // A neighbour without weight must not turn an infinity into a NaN.
      if (weight == 0.0) continue;
      sum += weight * float(x[((image + table[row + j].x) * p.in_width + table[column + k].x) * p.channels + channel]);
    }
  }
  y[i] = T(sum);
}
