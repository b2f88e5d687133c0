#version 450
#extension GL_GOOGLE_include_directive : require
// Single elements of x: an index along one axis for each, and the element's own place along the others.
#include "common.glsl"

/// Elements: 0 floats in the storage type, 1 or 2 words of 32 bits, kBytes bytes.
layout(constant_id = 1) const uint kWords = 0;
/// Words of an index: 1 or 2.
layout(constant_id = 2) const uint kIndexWords = 1;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) readonly buffer I { int indices[]; };
layout(binding = 2) writeonly buffer Y { T y[]; };
layout(binding = 2) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;  ///< Of the indices, whose extents follow, and what x has from one of them to the next; 0 along the axis.
  int extent;  ///< Of the axis,
  uint along;  ///< and from one of its elements to the next.
  uint extents[8];
  uint strides[8];
} p;

uint Source(uint i) {
  int index = indices[i * kIndexWords];
  if (index < 0) index += p.extent;
  // The shader check reports what is outside; none may reach outside of x.
  uint from = uint(clamp(index, 0, p.extent - 1)) * p.along;
  uint rest = i;
  for (uint axis = p.rank; axis-- > 0;) {
    from += rest % p.extents[axis] * p.strides[axis];
    rest /= p.extents[axis];
  }
  return from;
}

void main() {
  uint i = FlatIndex();
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
      uint from = Source(4 * i + k);
      word |= BYTE_OF(x_word, from) << (8 * k);
    }
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  uint from = Source(i);
  if (kWords == 0) {
    y[i] = x[from];
  } else {
    for (uint word = 0; word < kWords; ++word) y_word[i * kWords + word] = x_word[from * kWords + word];
  }
}
