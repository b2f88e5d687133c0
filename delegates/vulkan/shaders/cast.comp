#version 450
#extension GL_GOOGLE_include_directive : require
// From one type to another, one element at a time, by way of a 64-bit integer.
#include "common.glsl"

const uint kFloat = 0;
const uint kInt32 = 1;
const uint kInt64 = 2;
const uint kBool = 3;
const uint kByte = 4;
layout(constant_id = 1) const uint kFrom = 0;
layout(constant_id = 2) const uint kTo = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(binding = 1) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push { uint count; } p;

/// 64 bits: the lower word, the upper one.
uvec2 Negated(uvec2 v) { return uvec2(~v.x + 1u, ~v.y + (v.x == 0u ? 1u : 0u)); }

/// Toward zero, saturated; NaN is 0. All steps are exact.
uvec2 Truncated(float v) {
  if (IsNaN(v)) return uvec2(0u);
  float limit = kTo == kInt64 ? 9223372036854775808.0 : (kTo == kByte ? 255.0 : 2147483648.0);
  if (kTo == kByte) return uvec2(uint(clamp(v, 0.0, limit)), 0u);
  if (v <= -limit) return kTo == kInt64 ? uvec2(0u, 0x80000000u) : uvec2(0x80000000u, ~0u);
  if (v >= limit) return kTo == kInt64 ? uvec2(~0u, 0x7fffffffu) : uvec2(0x7fffffffu, 0u);
  float size = floor(abs(v));
  float high = floor(size / 4294967296.0);
  uvec2 whole = uvec2(uint(size - high * 4294967296.0), uint(high));
  return v < 0.0 ? Negated(whole) : whole;
}

/// The 32 leading bits, the last of which stands for those behind it as well: one rounding remains.
float ToFloat(uvec2 v) {
  uvec2 size = int(v.y) < 0 ? Negated(v) : v;
  uint shift = size.y == 0u ? 0u : uint(findMSB(size.y)) + 1u;
  uint leading = shift == 32u ? size.y : (shift == 0u ? size.x : size.y << (32u - shift) | size.x >> shift);
  uint behind = shift == 32u ? size.x : (shift == 0u ? 0u : size.x << (32u - shift));
  float whole = float(leading | (behind != 0u ? 1u : 0u)) * uintBitsToFloat((shift + 127u) << 23);
  return int(v.y) < 0 ? -whole : whole;
}

uvec2 Value(uint i) {
  if (kFrom == kFloat) return Truncated(float(x[i]));
  if (kFrom == kInt64) return uvec2(x_word[2 * i], x_word[2 * i + 1]);
  if (kFrom == kByte) return uvec2(BYTE_OF(x_word, i), 0u);
  return uvec2(x_word[i], int(x_word[i]) < 0 ? ~0u : 0u);
}

void main() {
  uint i = FlatIndex();
  if (kTo == kByte) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) word |= (Value(4 * i + k).x & 255u) << (8 * k);
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  if (kFrom == kFloat && kTo == kBool) {
    y_word[i] = float(x[i]) != 0.0 ? 1u : 0u;
    return;
  }
  uvec2 value = Value(i);
  switch (kTo) {
    case kFloat: y[i] = T(ToFloat(value)); break;
    case kInt32: y_word[i] = value.x; break;
    case kInt64:
      y_word[2 * i] = value.x;
      y_word[2 * i + 1] = value.y;
      break;
    case kBool: y_word[i] = value.x != 0u || value.y != 0u ? 1u : 0u; break;
  }
}
