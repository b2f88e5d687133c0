#version 450
#extension GL_GOOGLE_include_directive : require
// Two operands of signed integers with broadcasting, wrapping around; y is dense.
#include "common.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
/// Words of an element: 1 or 2, the lower one first.
layout(constant_id = 2) const uint kWords = 1;

layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  float low;  ///< Of Mod: whether the remainder has the dividend's sign.
  float high;
  uint extents[8];
  uint a_strides[8];
  uint b_strides[8];
} p;

/// Truncated; x / 0 is 0, and the one quotient that overflows wraps. Of magnitudes, because `/` of negative numbers and of
/// the lowest one is not defined everywhere.
int Quotient(int u, int v) {
  if (v == 0) return 0;
  uint magnitude = uint(abs(u)) / uint(abs(v));
  return int((u < 0) == (v < 0) ? magnitude : 0u - magnitude);
}

/// With the dividend's sign where p.low is 1, else with the divisor's; x % 0 is 0.
int Remainder(int u, int v) {
  if (v == 0) return 0;
  int rest = u - Quotient(u, v) * v;
  return p.low == 0.0 && rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;
}

bool IsNegative(uvec2 u) { return int(u.y) < 0; }

uvec2 Sum(uvec2 u, uvec2 v) {
  uint high;
  uint low = uaddCarry(u.x, v.x, high);
  return uvec2(low, u.y + v.y + high);
}

uvec2 Difference(uvec2 u, uvec2 v) {
  uint high;
  uint low = usubBorrow(u.x, v.x, high);
  return uvec2(low, u.y - v.y - high);
}

uvec2 Signed(uvec2 magnitude, bool negative) { return negative ? Difference(uvec2(0), magnitude) : magnitude; }

/// The same of two words, bit by bit; the quotient is truncated.
uvec2 Divided(uvec2 u, uvec2 v, out uvec2 rest) {
  rest = uvec2(0);
  if (v == uvec2(0)) return uvec2(0);
  uvec2 dividend = Signed(u, IsNegative(u));
  uvec2 divisor = Signed(v, IsNegative(v));
  uvec2 quotient = uvec2(0);
  for (uint bit = 64; bit-- > 0;) {
    uint next = bit >= 32 ? (dividend.y >> (bit - 32)) & 1u : (dividend.x >> bit) & 1u;
    rest = uvec2(rest.x << 1 | next, rest.y << 1 | rest.x >> 31);
    if (rest.y < divisor.y || (rest.y == divisor.y && rest.x < divisor.x)) continue;
    rest = Difference(rest, divisor);
    if (bit >= 32) {
      quotient.y |= 1u << (bit - 32);
    } else {
      quotient.x |= 1u << bit;
    }
  }
  rest = Signed(rest, IsNegative(u));
  return Signed(quotient, IsNegative(u) != IsNegative(v));
}

uvec2 Remainder(uvec2 u, uvec2 v) {
  uvec2 rest;
  Divided(u, v, rest);
  return p.low == 0.0 && rest != uvec2(0) && IsNegative(rest) != IsNegative(v) ? Sum(rest, v) : rest;
}

uvec2 Quotient(uvec2 u, uvec2 v) {
  uvec2 rest;
  return Divided(u, v, rest);
}

bool IsLess(uvec2 u, uvec2 v) { return int(u.y) < int(v.y) || (u.y == v.y && u.x < v.x); }

uvec2 Apply(uvec2 u, uvec2 v) {
  uint low;
  uint high;
  switch (kOp) {
    case OP_Add:
      return Sum(u, v);
    case OP_Sub:
      return Difference(u, v);
    case OP_Mul:
      umulExtended(u.x, v.x, high, low);
      return uvec2(low, high + u.x * v.y + u.y * v.x);
    case OP_Div: return kWords == 2 ? Quotient(u, v) : uvec2(uint(Quotient(int(u.x), int(v.x))), 0);
    case OP_Mod: return kWords == 2 ? Remainder(u, v) : uvec2(uint(Remainder(int(u.x), int(v.x))), 0);
    case OP_Min: return IsLess(v, u) ? v : u;
    case OP_Max: return IsLess(u, v) ? v : u;
  }
  return u;
}

/// An element of one word is widened with its sign.
uvec2 Element(uint low, uint high) { return uvec2(low, kWords == 2 ? high : (int(low) < 0 ? ~0u : 0u)); }

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  uint rest = i;
  uint ai = 0;
  uint bi = 0;
  for (uint axis = p.rank; axis-- > 0;) {
    uint index = rest % p.extents[axis];
    rest /= p.extents[axis];
    ai += index * p.a_strides[axis] * kWords;
    bi += index * p.b_strides[axis] * kWords;
  }
  uvec2 result = Apply(Element(a[ai], a[ai + kWords - 1]), Element(b[bi], b[bi + kWords - 1]));
  y[i * kWords] = result.x;
  if (kWords == 2) y[i * kWords + 1] = result.y;
}
