#version 450
#extension GL_GOOGLE_include_directive : require
// From one type to another, one element at a time.
#include "common.glsl"

const uint kFloat = 0;
const uint kInt32 = 1;
const uint kInt64 = 2;
const uint kBool = 3;
layout(constant_id = 1) const uint kFrom = 0;
layout(constant_id = 2) const uint kTo = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XInt { int x_int[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(binding = 1) writeonly buffer YInt { int y_int[]; };
layout(push_constant) uniform Push { uint count; } p;

/// A 64-bit integer.
struct Words {
  int low;
  int high;
};

Words Negated(Words v) { return Words(-v.low, ~v.high + (v.low == 0 ? 1 : 0)); }

/// Toward zero, saturated; NaN is 0.
int Truncated(float v) {
  if (IsNaN(v)) return 0;
  if (v >= 2147483648.0) return 2147483647;
  if (v <= -2147483648.0) return int(0x80000000u);
  return int(v);
}

/// The same to 64 bits.
Words TruncatedLong(float v) {
  if (IsNaN(v)) return Words(0, 0);
  if (v >= 9223372036854775808.0) return Words(-1, 0x7fffffff);
  if (v <= -9223372036854775808.0) return Words(0, int(0x80000000u));
  float size = floor(abs(v));
  float high = floor(size / 4294967296.0);
  Words words = Words(int(uint(size - high * 4294967296.0)), int(high));
  return v < 0.0 ? Negated(words) : words;
}

/// Rounded once, as the conversion of 32 bits does it: float(uint) is to the nearest in every driver that was seen, and
/// Vulkan asks for no more than either neighbour.
float Rounded(Words v) {
  bool negative = v.high < 0;
  if (negative) v = Negated(v);
  uint high = uint(v.high);
  uint low = uint(v.low);
  float size = 0.0;
  if (high == 0u) {
    size = float(low);
  } else {
    int top = findMSB(high);
    // The upper 32 bits, the last of which stands for all that is below them.
    uint upper = top == 31 ? high : (high << (31 - top)) | (low >> (top + 1));
    uint below = top == 31 ? low : low & ((2u << top) - 1u);
    size = float(upper | (below != 0u ? 1u : 0u)) * uintBitsToFloat(uint(top + 1 + 127) << 23);
  }
  return negative ? -size : size;
}

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  if (kFrom == kFloat) {
    float v = float(x[i]);
    if (kTo == kBool) {
      y_int[i] = v != 0.0 ? 1 : 0;
    } else if (kTo == kInt64) {
      Words words = TruncatedLong(v);
      y_int[2 * i] = words.low;
      y_int[2 * i + 1] = words.high;
    } else {
      y_int[i] = Truncated(v);
    }
    return;
  }
  int low = kFrom == kInt64 ? x_int[2 * i] : x_int[i];
  int high = kFrom == kInt64 ? x_int[2 * i + 1] : (low < 0 ? -1 : 0);
  if (kTo == kFloat) {
    y[i] = T(kFrom == kInt64 ? Rounded(Words(low, high)) : float(low));
  } else if (kTo == kBool) {
    y_int[i] = low != 0 || (kFrom == kInt64 && high != 0) ? 1 : 0;
  } else if (kTo == kInt64) {
    y_int[2 * i] = low;
    y_int[2 * i + 1] = high;
  } else {
    y_int[i] = low;
  }
}
