#version 450
#extension GL_GOOGLE_include_directive : require
// Which update each place of a tensor takes: the number behind the last one's that goes there, 0 for none. Places are slices
// that a tuple of indices names, or elements, with an index along one axis and the update's own place along the others.
#include "common.glsl"

/// Words of an index: 1 or 2. 0: no updates yet, all places are 0.
layout(constant_id = 1) const uint kIndexWords = 1;

layout(binding = 0) readonly buffer I { int indices[]; };
layout(binding = 1) buffer C { uint claims[]; };
layout(push_constant) uniform Push {
  uint count;  ///< Of updates; of places where there are none yet.
  uint tuple;  ///< Indices of an update.
  uint rank;   ///< Of what an update's own place is made of.
  int index_extents[8];
  uint extents[8];
  uint strides[8];
  uint along;  ///< Places from one index of the last axis of a tuple to the next.
} p;

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  if (kIndexWords == 0) {
    claims[i] = 0;
    return;
  }
  uint place = 0;
  for (uint axis = 0; axis < p.tuple; ++axis) {
    int index = indices[(i * p.tuple + axis) * kIndexWords];
    if (index < 0) index += p.index_extents[axis];
    // The shader check reports what is outside; none may reach outside of the places.
    place = place * uint(p.index_extents[axis]) + uint(clamp(index, 0, p.index_extents[axis] - 1));
  }
  place *= p.along;
  uint rest = i;
  for (uint axis = p.rank; axis-- > 0;) {
    place += rest % p.extents[axis] * p.strides[axis];
    rest /= p.extents[axis];
  }
  atomicMax(claims[place], i + 1);
}
