#version 450
#extension GL_GOOGLE_include_directive : require
// One function of each element, four at a time.
#include "common.glsl"
#include "math.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;

layout(binding = 0) readonly buffer X { T4 x[]; };
layout(binding = 1) writeonly buffer Y { T4 y[]; };
layout(push_constant) uniform Push {
  uint vectors;
  float low;
  float high;
  float alpha;
  float beta;
} p;

float Gelu(float v) {
  if (p.alpha != 0.0) return 0.5 * v * (1.0 + Tanh(0.797884561 * (v + 0.044715 * v * v * v)));
  return 0.5 * v * (1.0 + Erf(v * 0.707106781));
}

float Apply(float v) {
  switch (kOp) {
    case OP_Abs: return abs(v);
    case OP_Neg: return -v;
    case OP_Exp: return Exp(v);
    case OP_Log: return Log(v);
    case OP_Sqrt: return v < 0.0 ? uintBitsToFloat(0x7fc00000u) : sqrt(v);
    case OP_Reciprocal: return 1.0 / v;
    case OP_Sigmoid: return Sigmoid(v);
    case OP_Tanh: return Tanh(v);
    case OP_Erf: return Erf(v);
    case OP_Floor: return floor(v);
    case OP_Ceil: return ceil(v);
    case OP_Round: return roundEven(v);
    case OP_Sign: return v < 0.0 ? -1.0 : (v > 0.0 ? 1.0 : v);
    case OP_Softplus: return max(v, 0.0) + LogOnePlus(Exp(-abs(v)));
    case OP_HardSwish: return v * Clamped(v / 6.0 + 0.5, 0.0, 1.0);
    case OP_Silu: return v / (1.0 + Exp(-v));
    case OP_Gelu: return Gelu(v);
    case OP_LeakyRelu: return v < 0.0 ? p.alpha * v : v;
    case OP_Elu: return v < 0.0 ? p.alpha * ExpMinusOne(v) : v;
    case OP_HardSigmoid: return Clamped(p.alpha * v + p.beta, 0.0, 1.0);
  }
  return v;
}

void main() {
  uint i = FlatIndex();
  if (i >= p.vectors) return;
  vec4 v = vec4(x[i]);
  y[i] = T4(Clamped(vec4(Apply(v.x), Apply(v.y), Apply(v.z), Apply(v.w)), p.low, p.high));
}
