#version 450
#extension GL_GOOGLE_include_directive : require
// Elements of a or b, chosen by a bool, with broadcasting; y is dense.
#include "common.glsl"

/// Elements: 0 floats in the storage type, 1 32-bit words (an axis of 2 stands for 64 bits), kBytes bytes.
layout(constant_id = 1) const uint kWords = 0;

layout(binding = 0) readonly buffer C { uint condition[]; };
layout(binding = 1) readonly buffer A { T a[]; };
layout(binding = 2) readonly buffer B { T b[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(binding = 1) readonly buffer AWord { uint a_word[]; };
layout(binding = 2) readonly buffer BWord { uint b_word[]; };
layout(binding = 3) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  uint extents[7];
  uint condition_strides[7];
  uint a_strides[7];
  uint b_strides[7];
} p;

void Place(uint i, out uint ci, out uint ai, out uint bi) {
  uint rest = i;
  ci = 0;
  ai = 0;
  bi = 0;
  for (uint axis = p.rank; axis-- > 0;) {
    uint index = rest % p.extents[axis];
    rest /= p.extents[axis];
    ci += index * p.condition_strides[axis];
    ai += index * p.a_strides[axis];
    bi += index * p.b_strides[axis];
  }
}

void main() {
  uint i = FlatIndex();
  uint ci;
  uint ai;
  uint bi;
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
      Place(4 * i + k, ci, ai, bi);
      uint value = condition[ci] != 0u ? BYTE_OF(a_word, ai) : BYTE_OF(b_word, bi);
      word |= value << (8 * k);
    }
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  Place(i, ci, ai, bi);
  if (kWords == 0) {
    // Choosing between two f16 would take more than 16-bit storage.
    y[i] = T(condition[ci] != 0u ? float(a[ai]) : float(b[bi]));
  } else {
    y_word[i] = condition[ci] != 0u ? a_word[ai] : b_word[bi];
  }
}
