#version 450
#extension GL_GOOGLE_include_directive : require
// ArgMax and ArgMin along one axis: an invocation finds one index, written as 64 bits.
#include "common.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
layout(constant_id = 2) const bool kLast = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) writeonly buffer Y { uvec2 y[]; };
layout(push_constant) uniform Push {
  uint count;
  uint extent;
  uint inner;
} p;

/// Whether `v`, which comes after `best`, takes its place.
bool Wins(float v, float best) {
  if (IsNaN(v) || IsNaN(best)) return IsNaN(v) && (!IsNaN(best) || kLast);
  if (v == best) return kLast;
  return (v > best) == (kOp == OP_ArgMax);
}

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint first = i / p.inner * p.extent * p.inner + i % p.inner;
  float best = float(x[first]);
  uint chosen = 0;
  for (uint k = 1; k < p.extent; ++k) {
    float v = float(x[first + k * p.inner]);
    if (!Wins(v, best)) continue;
    best = v;
    chosen = k;
  }
  y[i] = uvec2(chosen, 0u);
}
