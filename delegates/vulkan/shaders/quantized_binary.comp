#version 450
#extension GL_GOOGLE_include_directive : require
// Two operands of codes with broadcasting: four neighbouring elements of y, which is dense.
#include "common.glsl"
#include "codes.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
/// Both operands have the output's shape.
layout(constant_id = 2) const bool kSameShape = false;
layout(constant_id = 3) const uint kA = kI8;
layout(constant_id = 4) const uint kB = kI8;

layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  vec2 a_factor;  ///< Steps of y that a step of a is; of a product, that a product of steps is.
  vec2 b_factor;
  int zeros;   ///< Of a, b and y, ten bits each.
  int limits;  ///< The lowest code of y, and the highest.
  uint extents[8];
  uint a_strides[8];
  uint b_strides[8];
} p;

int ZeroOf(int operand) { return bitfieldExtract(p.zeros, 10 * operand, 10); }

int Apply(int u, int v) {
  vec2 from_a = ProductOf(kOp == OP_Mul ? u * v : u, p.a_factor);
  vec2 from_b = ProductOf(v, p.b_factor);
  vec2 steps;
  switch (kOp) {
    case OP_Add: steps = SumOf(from_a, from_b); break;
    case OP_Sub: steps = SumOf(from_a, -from_b); break;
    case OP_Mul: steps = from_a; break;
    case OP_Min: steps = from_a.x < from_b.x ? from_a : from_b; break;
    case OP_Max: steps = from_a.x > from_b.x ? from_a : from_b; break;
  }
  return CodeOf(steps, ZeroOf(2), bitfieldExtract(p.limits, 0, 16), bitfieldExtract(p.limits, 16, 16));
}

void main() {
  uint i = FlatIndex();
  if (4 * i >= p.count) return;
  uint word = 0;
  for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
    uint rest = 4 * i + k;
    uint ai = kSameShape ? rest : 0;
    uint bi = kSameShape ? rest : 0;
    for (uint axis = kSameShape ? 0 : p.rank; axis-- > 0;) {
      uint index = rest % p.extents[axis];
      rest /= p.extents[axis];
      ai += index * p.a_strides[axis];
      bi += index * p.b_strides[axis];
    }
    int u = LaneOf(a[ai >> 2], ai & 3u, kA) - ZeroOf(0);
    int v = LaneOf(b[bi >> 2], bi & 3u, kB) - ZeroOf(1);
    word |= (uint(Apply(u, v)) & 255u) << (8 * k);
  }
  y[i] = word;
}
