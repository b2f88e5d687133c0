#version 450
#extension GL_GOOGLE_include_directive : require
// x with the slices in their places that claim.comp chose.
#include "common.glsl"

/// Elements: 0 floats in the storage type, 1 32-bit words, kBytes bytes.
layout(constant_id = 1) const uint kWords = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) readonly buffer U { T updates[]; };
layout(binding = 1) readonly buffer UWord { uint updates_word[]; };
layout(binding = 2) readonly buffer C { uint claims[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(binding = 3) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint inner;  ///< Elements of a slice.
} p;

/// Where element i comes from; false: from x.
bool IsUpdate(uint i, out uint from) {
  uint claim = claims[i / p.inner];
  from = claim == 0 ? i : (claim - 1) * p.inner + i % p.inner;
  return claim != 0;
}

void main() {
  uint i = FlatIndex();
  uint from;
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
      bool updated = IsUpdate(4 * i + k, from);
      word |= (updated ? BYTE_OF(updates_word, from) : BYTE_OF(x_word, from)) << (8 * k);
    }
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  bool updated = IsUpdate(i, from);
  if (kWords == 0) {
    // Choosing between two f16 would take more than 16-bit storage.
    y[i] = T(updated ? float(updates[from]) : float(x[from]));
  } else {
    y_word[i] = updated ? updates_word[from] : x_word[from];
  }
}
