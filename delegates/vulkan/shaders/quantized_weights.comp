#version 450
#extension GL_GOOGLE_include_directive : require
// Rows of floats times a constant matrix of codes: an invocation computes four columns of kTile neighbouring rows. A word of
// weights holds four columns at one depth: [depth][column / 4].
#include "common.glsl"
#include "codes.glsl"

/// Rows of an invocation, at most 4.
layout(constant_id = 1) const uint kTile = 4;
layout(constant_id = 2) const uint kW = kI8;
/// The depth is a multiple of 4.
layout(constant_id = 3) const bool kVectorIn = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer X4 { T4 x4[]; };
layout(binding = 1) readonly buffer W { uint weights[]; };
/// Of a column: the scale, the bias, the zero point.
layout(binding = 2) readonly buffer P { uvec4 parameters[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint depth;
  uint columns;
  float low;
  float high;
} p;

vec4 sums[4];

vec4 WeightsAt(uint at, ivec4 zeros) { return vec4(LanesOf(weights[at], kW) - zeros); }

void main() {
  uint blocks = (p.columns + 3) / 4;
  uint i = FlatIndex();
  uint block = i % blocks;
  uint row = i / blocks * kTile;
  if (row >= p.rows) return;
  uvec4 of[4];
  [[unroll]] for (uint c = 0; c < 4; ++c) of[c] = parameters[block * 4 + c];
  ivec4 zeros = ivec4(of[0].z, of[1].z, of[2].z, of[3].z);
  [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = vec4(0.0);
  for (uint k = 0; k < p.depth; k += kVectorIn ? 4 : 1) {
    uint weight = k * blocks + block;
    vec4 w0 = WeightsAt(weight, zeros);
    if (kVectorIn) {
      vec4 w1 = WeightsAt(weight + blocks, zeros);
      vec4 w2 = WeightsAt(weight + 2 * blocks, zeros);
      vec4 w3 = WeightsAt(weight + 3 * blocks, zeros);
      [[unroll]] for (uint t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        vec4 v = vec4(x4[(min(row + t, p.rows - 1) * p.depth + k) / 4]);
        sums[t] = fma(v.wwww, w3, fma(v.zzzz, w2, fma(v.yyyy, w1, fma(v.xxxx, w0, sums[t]))));
      }
    } else {
      [[unroll]] for (uint t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        sums[t] = fma(vec4(float(x[min(row + t, p.rows - 1) * p.depth + k])), w0, sums[t]);
      }
    }
  }
  for (uint t = 0; t < kTile && row + t < p.rows; ++t) {
    for (uint c = 0; c < 4 && block * 4 + c < p.columns; ++c) {
      float scaled = sums[t][c] * uintBitsToFloat(of[c].x) + uintBitsToFloat(of[c].y);
      y[(row + t) * p.columns + block * 4 + c] = T(Clamped(scaled, p.low, p.high));
    }
  }
}
