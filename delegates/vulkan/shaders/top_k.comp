#version 450
#extension GL_GOOGLE_include_directive : require
// The largest elements of a line along one axis, or the smallest, best first, and their places, written as 64 bits. A work
// group finds them one after the other: the best of those that come behind the last one. A dispatch finds those from `begin`
// to `end`; what was found before is there already.
#include "common.glsl"

layout(constant_id = 1) const bool kLargest = true;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) buffer Values { T values[]; };
layout(binding = 2) buffer Places { uvec2 places[]; };
layout(push_constant) uniform Push {
  uint lines;
  uint extent;
  uint inner;
  uint found;  ///< Of each line.
  uint begin;
  uint end;
} p;

const uint kLanes = gl_WorkGroupSize.x;
const uint kNone = ~0u;
/// The keys, and the places or kNone.
shared uvec2 lanes[kLanes];

/// A number for which more is better. NaN is larger than every number; both zeros are equal.
uint KeyOf(float v) {
  uint bits = v == 0.0 ? 0u : floatBitsToUint(v);
  uint rising = IsNaN(v) ? ~0u : ((bits >> 31) != 0 ? ~bits : bits | 0x80000000u);
  return kLargest ? rising : ~rising;
}

/// Of equal elements the first one is better.
bool IsBetter(uvec2 a, uvec2 b) {
  if (a.y == kNone || b.y == kNone) return b.y == kNone && a.y != kNone;
  return a.x > b.x || (a.x == b.x && a.y < b.y);
}

void main() {
  uint line = FlatGroup();
  if (line >= p.lines) return;
  uint outer = line / p.inner;
  uint first = outer * p.extent * p.inner + line % p.inner;
  uint to = outer * p.found * p.inner + line % p.inner;
  uvec2 last = uvec2(0, kNone);
  if (p.begin > 0) {
    uint before = to + (p.begin - 1) * p.inner;
    last = uvec2(KeyOf(float(values[before])), places[before].x);
  }
  for (uint k = p.begin; k < p.end; ++k) {
    uvec2 best = uvec2(0, kNone);
    for (uint i = gl_LocalInvocationIndex; i < p.extent; i += kLanes) {
      uvec2 here = uvec2(KeyOf(float(x[first + i * p.inner])), i);
      if ((last.y == kNone || IsBetter(last, here)) && IsBetter(here, best)) best = here;
    }
    lanes[gl_LocalInvocationIndex] = best;
    for (uint width = kLanes / 2; width > 0; width /= 2) {
      barrier();
      if (gl_LocalInvocationIndex < width && IsBetter(lanes[gl_LocalInvocationIndex + width], lanes[gl_LocalInvocationIndex]))
        lanes[gl_LocalInvocationIndex] = lanes[gl_LocalInvocationIndex + width];
    }
    barrier();
    last = lanes[0];
    barrier();
    if (gl_LocalInvocationIndex == 0) {
      values[to + k * p.inner] = x[first + last.y * p.inner];
      places[to + k * p.inner] = uvec2(last.y, 0u);
    }
  }
}
