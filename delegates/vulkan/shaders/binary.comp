#version 450
#extension GL_GOOGLE_include_directive : require
// Two operands with broadcasting; y is dense.
#include "common.glsl"
#include "math.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
/// Both operands have the output's shape: four elements at a time.
layout(constant_id = 2) const bool kSameShape = false;

layout(binding = 0) readonly buffer A { T a[]; };
layout(binding = 1) readonly buffer B { T b[]; };
layout(binding = 2) writeonly buffer Y { T y[]; };
layout(binding = 0) readonly buffer A4 { T4 a4[]; };
layout(binding = 1) readonly buffer B4 { T4 b4[]; };
layout(binding = 2) writeonly buffer Y4 { T4 y4[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  float low;
  float high;
  uint extents[8];
  uint a_strides[8];
  uint b_strides[8];
} p;

float Power(float base, float exponent) {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  if (IsNaN(base) || IsNaN(exponent)) return base + exponent;
  bool is_integer = floor(exponent) == exponent;
  bool is_odd = is_integer && abs(exponent) < 16777216.0 && (int(exponent) & 1) != 0;
  // Small integer powers by multiplication: exact where the result is.
  if (is_integer && abs(exponent) <= 64.0) {
    float result = 1.0;
    float square = base;
    for (int n = int(abs(exponent)); n != 0; n >>= 1) {
      if ((n & 1) != 0) result *= square;
      square *= square;
    }
    return exponent < 0.0 ? 1.0 / result : result;
  }
  if (base < 0.0 && !is_integer && base != -kInfinity && abs(exponent) != kInfinity) return uintBitsToFloat(0x7fc00000u);
  if (exponent == 0.5 && base >= 0.0) return sqrt(base);
  if (base == -1.0 && abs(exponent) == kInfinity) return 1.0;
  float magnitude = Exp(exponent * Log(abs(base)));
  return base < 0.0 && is_odd ? -magnitude : magnitude;
}

float Apply(float u, float v) {
  switch (kOp) {
    case OP_Add: return u + v;
    case OP_Sub: return u - v;
    case OP_Mul: return u * v;
    case OP_Div: return u / v;
    case OP_Min: return u < v || IsNaN(u) ? u : v;
    case OP_Max: return v < u || IsNaN(u) ? u : v;
    case OP_Pow: return HAS_Pow ? Power(u, v) : u;
    case OP_PRelu: return u < 0.0 ? u * v : u;
  }
  return u;
}

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  if (kSameShape) {
    vec4 u = vec4(a4[i]);
    vec4 v = vec4(b4[i]);
    y4[i] = T4(Clamped(vec4(Apply(u.x, v.x), Apply(u.y, v.y), Apply(u.z, v.z), Apply(u.w, v.w)), p.low, p.high));
    return;
  }
  uint rest = i;
  uint ai = 0;
  uint bi = 0;
  for (uint axis = p.rank; axis-- > 0;) {
    uint index = rest % p.extents[axis];
    rest /= p.extents[axis];
    ai += index * p.a_strides[axis];
    bi += index * p.b_strides[axis];
  }
  y[i] = T(Clamped(Apply(float(a[ai]), float(b[bi])), p.low, p.high));
}
