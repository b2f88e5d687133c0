#version 450
#extension GL_GOOGLE_include_directive : require
// Slices of x along one axis, chosen by integers: y[o, j, i] = x[o, indices[j], i]. The axis may stand for several, of which a
// tuple of integers says where.
#include "common.glsl"

/// Elements: 0 floats in the storage type, 1 32-bit words, kBytes bytes.
layout(constant_id = 1) const uint kWords = 0;
/// Words of an index: 1 or 2.
layout(constant_id = 2) const uint kIndexWords = 1;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) readonly buffer I { int indices[]; };
layout(binding = 2) writeonly buffer Y { T y[]; };
layout(binding = 2) buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint inner;
  uint chosen;
  int first;  ///< The slices that x holds; others are left to other dispatches.
  uint held;
  uint axes;
  int extents[8];
} p;

/// Where element i comes from; false: from a slice that another dispatch holds.
bool FindSource(uint i, out uint from) {
  uint within = i % p.inner;
  uint j = i / p.inner % p.chosen;
  uint outer = i / p.inner / p.chosen;
  int index = 0;
  for (uint axis = 0; axis < p.axes; ++axis) {
    int along = indices[(j * p.axes + axis) * kIndexWords];
    if (along < 0) along += p.extents[axis];
    // The shader check reports what is outside; none may reach outside of x.
    index = index * p.extents[axis] + clamp(along, 0, p.extents[axis] - 1);
  }
  uint slice = uint(index - p.first);
  from = (outer * p.held + slice) * p.inner + within;
  return slice < p.held;
}

void main() {
  uint i = FlatIndex();
  uint from;
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = y_word[i];
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
      if (FindSource(4 * i + k, from)) word = bitfieldInsert(word, BYTE_OF(x_word, from), int(8 * k), 8);
    }
    y_word[i] = word;
    return;
  }
  if (i >= p.count || !FindSource(i, from)) return;
  if (kWords == 0) {
    y[i] = x[from];
  } else {
    y_word[i] = x_word[from];
  }
}
