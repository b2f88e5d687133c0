#version 450
#extension GL_GOOGLE_include_directive : require
// Elements of a or b, chosen by a bool, with broadcasting; y is dense.
#include "common.glsl"

/// Words of an element: 0 floats in the storage type, else 32-bit words (an axis of 2 stands for 64 bits).
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

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint rest = i;
  uint ci = 0;
  uint ai = 0;
  uint bi = 0;
  for (uint axis = p.rank; axis-- > 0;) {
    uint index = rest % p.extents[axis];
    rest /= p.extents[axis];
    ci += index * p.condition_strides[axis];
    ai += index * p.a_strides[axis];
    bi += index * p.b_strides[axis];
  }
  if (kWords == 0) {
    // Choosing between two f16 would take more than 16-bit storage.
    y[i] = T(condition[ci] != 0u ? float(a[ai]) : float(b[bi]));
  } else {
    y_word[i] = condition[ci] != 0u ? a_word[ai] : b_word[bi];
  }
}
