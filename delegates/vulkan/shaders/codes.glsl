// Quantised integers of 8 bits, four in a word.

/// What elements are (the constants of shaders).
const uint kReals = 0;  // Floats in the storage type.
const uint kI8 = 1;
const uint kU8 = 2;

/// As integers.
ivec4 LanesOf(uint word, uint kind) {
  ivec4 shifted = ivec4(word) >> ivec4(0, 8, 16, 24) & 255;
  return kind == kI8 ? (shifted ^ 128) - 128 : shifted;
}
int LaneOf(uint word, uint lane, uint kind) {
  int code = int(word >> (lane * 8) & 255u);
  return kind == kI8 ? (code ^ 128) - 128 : code;
}
uint WordOf(ivec4 codes) {
  uvec4 bytes = uvec4(codes) & 255u;
  return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24;
}

// Numbers as sums, the second part small against the first: what f32 alone rounds would decide many a tie wrongly, for
// quotients of decimal scales are near to simple fractions. No step needs a fused multiply-add, which not all devices have.

vec2 SumOf(float a, float b) {
  precise float high = a + b;
  precise float of_b = high - a;
  precise float low = (a - (high - of_b)) + (b - of_b);
  return vec2(high, low);
}
vec2 SumOf(vec2 a, vec2 b) {
  vec2 sum = SumOf(a.x, b.x);
  precise float low = sum.y + a.y + b.y;
  return vec2(sum.x, low);
}

/// The leading 12 bits.
float LeadingOf(float v) { return uintBitsToFloat(floatBitsToUint(v) & 0xfffff000u); }

/// The factor's first part has 12 bits, so has each part of n: their products are exact.
vec2 ProductOf(int n, vec2 factor) {
  int below = n & 0xfffff;
  int last = n & 0xfff;
  precise float high = float(n - below) * factor.x;
  precise float middle = float(below - last) * factor.x;
  precise float low = float(last) * factor.x;
  precise float rest = float(n) * factor.y;
  return SumOf(SumOf(SumOf(high, middle), vec2(low, 0.0)), vec2(0.0, rest));
}

/// The nearest code, half to even, within [low, high]. What is as near to half way as these sums are exact (2^-34)
/// is half way.
int CodeOf(vec2 steps, int zero, int low, int high) {
  float whole = roundEven(clamp(steps.x, -4096.0, 4096.0));
  vec2 rest = SumOf(steps.x - whole, steps.y);
  if (abs(rest.x) <= 1.0) {
    precise float beyond = (abs(rest.x) - 0.5) + (rest.x > 0.0 ? rest.y : -rest.y);
    bool tie = abs(beyond) <= abs(steps.x) * 5.8e-11;
    bool is_odd = (int(whole) & 1) != 0;
    if (tie ? is_odd : beyond > 0.0) whole += rest.x > 0.0 ? 1.0 : -1.0;
  }
  return int(clamp(whole + float(zero), float(low), float(high)));
}

/// The nearest code, half to even, within [low, high]; NaN is the zero point.
int CodeOf(float steps, int zero, int low, int high) {
  if (IsNaN(steps)) return zero;
  return int(clamp(roundEven(steps) + float(zero), float(low), float(high)));
}
