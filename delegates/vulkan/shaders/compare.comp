#version 450
#extension GL_GOOGLE_include_directive : require
// Comparisons and logic with broadcasting; y is dense, of bools as 32-bit words.
#include "common.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
/// Words of an element: 0 floats, 1 signed 32-bit integers or bools, 2 signed 64-bit integers.
layout(constant_id = 2) const uint kWords = 0;

layout(binding = 0) readonly buffer A { T a[]; };
layout(binding = 1) readonly buffer B { T b[]; };
layout(binding = 0) readonly buffer AInt { int a_int[]; };
layout(binding = 1) readonly buffer BInt { int b_int[]; };
layout(binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  float low;
  float high;
  uint extents[8];
  uint a_strides[8];
  uint b_strides[8];
} p;

bool Decide(bool less, bool equal, bool greater) {
  switch (kOp) {
    case OP_Equal: return equal;
    case OP_Less: return less;
    case OP_LessOrEqual: return less || equal;
    case OP_Greater: return greater;
    case OP_GreaterOrEqual: return greater || equal;
  }
  return false;
}

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint rest = i;
  uint ai = 0;
  uint bi = 0;
  for (uint axis = p.rank; axis-- > 0;) {
    uint index = rest % p.extents[axis];
    rest /= p.extents[axis];
    ai += index * p.a_strides[axis];
    bi += index * p.b_strides[axis];
  }
  bool result;
  if (kWords == 0) {
    float u = float(a[ai]);
    float v = float(b[bi]);
    result = Decide(u < v, u == v, u > v);
  } else if (kWords == 2) {
    int u_high = a_int[2 * ai + 1];
    int v_high = b_int[2 * bi + 1];
    uint u_low = uint(a_int[2 * ai]);
    uint v_low = uint(b_int[2 * bi]);
    bool same = u_high == v_high;
    result = Decide(u_high < v_high || (same && u_low < v_low), same && u_low == v_low,
                    u_high > v_high || (same && u_low > v_low));
  } else {
    int u = a_int[ai];
    int v = b_int[bi];
    switch (kOp) {
      case OP_And: result = (u & v) != 0; break;
      case OP_Or: result = (u | v) != 0; break;
      case OP_Xor: result = u != v; break;
      case OP_Not: result = u == 0; break;
      default: result = Decide(u < v, u == v, u > v);
    }
  }
  y[i] = result ? 1u : 0u;
}
