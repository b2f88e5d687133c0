#version 450
#extension GL_GOOGLE_include_directive : require
// A strided block to a strided block: transposes, slices, concatenation, repetition.
#include "common.glsl"

/// Elements: 0 floats in the storage type, 1 32-bit words (an axis of 2 stands for 64 bits), 2 floats in the storage type
/// that become f32, 3 f32 that become floats in the storage type, kBytes bytes to a dense output, 5 bytes to any place.
layout(constant_id = 1) const uint kWords = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(binding = 1) buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  int x_first;
  int y_first;
  uint extents[8];
  int x_strides[8];
  int y_strides[8];
} p;

void Place(uint i, out int from, out int to) {
  uint rest = i;
  from = p.x_first;
  to = p.y_first;
  for (uint axis = p.rank; axis-- > 0;) {
    int index = int(rest % p.extents[axis]);
    rest /= p.extents[axis];
    from += index * p.x_strides[axis];
    to += index * p.y_strides[axis];
  }
}

void main() {
  uint i = FlatIndex();
  int from;
  int to;
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
      Place(4 * i + k, from, to);
      word |= BYTE_OF(x_word, uint(from)) << (8 * k);
    }
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  Place(i, from, to);
  switch (kWords) {
    case 0: y[to] = x[from]; break;
    case 1: y_word[to] = x_word[from]; break;
    case 2: y_word[to] = floatBitsToUint(float(x[from])); break;
    case 3: y[to] = T(uintBitsToFloat(x_word[from])); break;
    case 5: {
      // Other invocations write the word's other bytes.
      uint shift = (uint(to) & 3u) * 8;
      atomicAnd(y_word[to >> 2], ~(255u << shift));
      atomicOr(y_word[to >> 2], BYTE_OF(x_word, uint(from)) << shift);
      break;
    }
  }
}
