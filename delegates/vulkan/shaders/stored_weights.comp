#version 450
#extension GL_GOOGLE_include_directive : require
// Rows of floats times a constant matrix of codes of 4 bits, which have a scale for each column, or for each run of a column:
// an invocation computes four columns of kTile neighbouring rows. A word of weights holds four columns at two depths:
// [depth / 2][column / 4].
#include "common.glsl"

/// Rows of an invocation, at most 4.
layout(constant_id = 1) const uint kTile = 4;
layout(constant_id = 2) const bool kSigned = false;
/// Not all zero points are 0.
layout(constant_id = 3) const bool kHasZeros = false;
/// The depth and the runs are multiples of 4.
layout(constant_id = 4) const bool kVectorIn = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer X4 { T4 x4[]; };
layout(binding = 1) readonly buffer W { uint weights[]; };
/// The biases, [column / 4]; the scales, [run][column / 4]; in a byte each, the zero points, [run][column / 4].
layout(binding = 2) readonly buffer P { vec4 parameters[]; };
layout(binding = 2) readonly buffer Z { uint zeros[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint depth;
  uint columns;
  uint run;  ///< The depths that share a scale; even, or all.
  float low;
  float high;
} p;

vec4 sums[4];

/// At the first depth of a word, or at the second.
vec4 WeightsOf(uint word, uint second, ivec4 zero) {
  ivec4 codes = ivec4(word >> 16 * second) >> ivec4(0, 4, 8, 12) & 15;
  return vec4((kSigned ? (codes ^ 8) - 8 : codes) - zero);
}

void AddRun(uint run, uint row, uint block, uint blocks) {
  ivec4 zero = ivec4(0);
  if (kHasZeros) {
    uint runs = (p.depth + p.run - 1) / p.run;
    zero = ivec4(zeros[4 * (1 + runs) * blocks + run * blocks + block]) << ivec4(24, 16, 8, 0) >> 24;
  }
  vec4 of_run[4];
  [[unroll]] for (int t = 0; t < 4; ++t) of_run[t] = vec4(0.0);
  uint end = min((run + 1) * p.run, p.depth);
  for (uint k = run * p.run; k < end; k += kVectorIn ? 4 : 2) {
    uint weight = k / 2 * blocks + block;
    vec4 w0 = WeightsOf(weights[weight], 0, zero);
    vec4 w1 = WeightsOf(weights[weight], 1, zero);
    if (kVectorIn) {
      vec4 w2 = WeightsOf(weights[weight + blocks], 0, zero);
      vec4 w3 = WeightsOf(weights[weight + blocks], 1, zero);
      [[unroll]] for (uint t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        vec4 v = vec4(x4[(min(row + t, p.rows - 1) * p.depth + k) / 4]);
        of_run[t] = fma(v.wwww, w3, fma(v.zzzz, w2, fma(v.yyyy, w1, fma(v.xxxx, w0, of_run[t]))));
      }
    } else {
      [[unroll]] for (uint t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        uint at = min(row + t, p.rows - 1) * p.depth + k;
        of_run[t] = fma(vec4(float(x[at])), w0, of_run[t]);
        if (k + 1 < end) of_run[t] = fma(vec4(float(x[at + 1])), w1, of_run[t]);
      }
    }
  }
  vec4 scale = parameters[(1 + run) * blocks + block];
  [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = fma(of_run[t], scale, sums[t]);
}

void main() {
  uint blocks = (p.columns + 3) / 4;
  uint i = FlatIndex();
  uint block = i % blocks;
  uint row = i / blocks * kTile;
  if (row >= p.rows) return;
  [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = parameters[block];
  for (uint run = 0; run * p.run < p.depth; ++run) AddRun(run, row, block, blocks);
  for (uint t = 0; t < kTile && row + t < p.rows; ++t) {
    for (uint c = 0; c < 4 && block * 4 + c < p.columns; ++c)
      y[(row + t) * p.columns + block * 4 + c] = T(Clamped(sums[t][c], p.low, p.high));
  }
}
