#version 450
#extension GL_GOOGLE_include_directive : require
// Whether every stride-th of integers is inside of [low, end): the host reads where the first one is that is not.
#include "common.glsl"

/// Words of an integer: 1 or 2.
layout(constant_id = 1) const uint kWords = 1;

layout(binding = 0) readonly buffer X { int x[]; };
layout(binding = 1) buffer R { uint first_outside; };
layout(push_constant) uniform Push {
  uint count;
  uint first;
  uint stride;
  int low;
  int end;
} p;

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint at = p.first + i * p.stride;
  int value = x[at * kWords];
  bool fits = kWords == 1 || x[at * kWords + 1] == (value < 0 ? -1 : 0);
  if (!fits || value < p.low || value >= p.end) atomicMin(first_outside, at);
}
