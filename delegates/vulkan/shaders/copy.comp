#version 450
#extension GL_GOOGLE_include_directive : require
// A strided block to a strided block: transposes, slices, concatenation, repetition.
#include "common.glsl"

/// Elements: 0 floats in the storage type, 1 32-bit words (an axis of 2 stands for 64 bits), 2 floats in the storage type
/// that become f32, 3 f32 that become floats in the storage type.
layout(constant_id = 1) const uint kWords = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(binding = 1) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  int x_first;
  int y_first;
  uint extents[8];
  int x_strides[8];
  int y_strides[8];
} p;

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint rest = i;
  int from = p.x_first;
  int to = p.y_first;
  for (uint axis = p.rank; axis-- > 0;) {
    int index = int(rest % p.extents[axis]);
    rest /= p.extents[axis];
    from += index * p.x_strides[axis];
    to += index * p.y_strides[axis];
  }
  switch (kWords) {
    case 0: y[to] = x[from]; break;
    case 1: y_word[to] = x_word[from]; break;
    case 2: y_word[to] = floatBitsToUint(float(x[from])); break;
    case 3: y[to] = T(uintBitsToFloat(x_word[from])); break;
  }
}
