#version 450
#extension GL_GOOGLE_include_directive : require
// Batched matrix product of two computed operands. An invocation computes a block of 4 x 4.
#include "common.glsl"

/// b is [columns, depth] instead of [depth, columns].
layout(constant_id = 1) const bool kTransposeB = false;

layout(binding = 0) readonly buffer A { T a[]; };
layout(binding = 1) readonly buffer B { T b[]; };
layout(binding = 2) readonly buffer C { T bias[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint matrices;
  uint rows;
  uint columns;
  uint depth;
  uint has_bias;
  float low;
  float high;
  uint rank;  ///< Of the batch.
  uint extents[6];
  uint a_strides[6];  ///< In elements.
  uint b_strides[6];
} p;

void main() {
  uint row_blocks = (p.rows + 3) / 4;
  uint column_blocks = (p.columns + 3) / 4;
  uint i = FlatIndex();
  uint column = i % column_blocks * 4;
  uint row = i / column_blocks % row_blocks * 4;
  uint matrix = i / column_blocks / row_blocks;
  if (matrix >= p.matrices) return;
  uint a_first = 0;
  uint b_first = 0;
  uint rest = matrix;
  for (uint axis = p.rank; axis-- > 0;) {
    uint index = rest % p.extents[axis];
    rest /= p.extents[axis];
    a_first += index * p.a_strides[axis];
    b_first += index * p.b_strides[axis];
  }
  uvec4 a_row;
  uvec4 b_column;
  [[unroll]] for (uint t = 0; t < 4; ++t) {
    a_row[t] = a_first + min(row + t, p.rows - 1) * p.depth;
    uint at = min(column + t, p.columns - 1);
    b_column[t] = b_first + (kTransposeB ? at * p.depth : at);
  }
  uint step = kTransposeB ? 1 : p.columns;
  vec4 sums[4];
  [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = vec4(0.0);
  for (uint k = 0; k < p.depth; ++k) {
    vec4 v = vec4(float(b[b_column.x + k * step]), float(b[b_column.y + k * step]), float(b[b_column.z + k * step]),
                  float(b[b_column.w + k * step]));
    [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = fma(vec4(a[a_row[t] + k]), v, sums[t]);
  }
  for (uint t = 0; t < 4 && row + t < p.rows; ++t) {
    for (uint c = 0; c < 4 && column + c < p.columns; ++c) {
      float sum = sums[t][c];
      if (p.has_bias != 0u) sum += float(bias[column + c]);
      y[(matrix * p.rows + row + t) * p.columns + column + c] = T(Clamped(sum, p.low, p.high));
    }
  }
}
