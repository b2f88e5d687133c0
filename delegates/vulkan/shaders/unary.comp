#version 450
#extension GL_GOOGLE_include_directive : require
// One function of each element, four at a time.
#include "common.glsl"
#include "math.glsl"
#include "ops.glsl"
#include "trig.glsl"

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

// What the build leaves out (HAS_) costs nothing: these shaders are large because of their functions.
float Apply(float v) {
  switch (kOp) {
    case OP_Abs: return HAS_Abs ? abs(v) : v;
    case OP_Neg: return HAS_Neg ? -v : v;
    case OP_Exp: return HAS_Exp ? Exp(v) : v;
    case OP_Log: return HAS_Log ? Log(v) : v;
    case OP_Sqrt: return HAS_Sqrt ? (v < 0.0 ? uintBitsToFloat(0x7fc00000u) : sqrt(v)) : v;
    case OP_Reciprocal: return HAS_Reciprocal ? 1.0 / v : v;
    case OP_Sigmoid: return HAS_Sigmoid ? Sigmoid(v) : v;
    case OP_Tanh: return HAS_Tanh ? Tanh(v) : v;
    case OP_Erf: return HAS_Erf ? Erf(v) : v;
    case OP_Floor: return HAS_Floor ? floor(v) : v;
    case OP_Ceil: return HAS_Ceil ? ceil(v) : v;
    case OP_Round: return HAS_Round ? roundEven(v) : v;
    case OP_Sign: return HAS_Sign ? (v < 0.0 ? -1.0 : (v > 0.0 ? 1.0 : v)) : v;
    case OP_Sin:
    case OP_Cos: return HAS_Sin || HAS_Cos ? Sine(v, kOp == OP_Cos ? 1u : 0u) : v;
    case OP_Softplus: return HAS_Softplus ? max(v, 0.0) + LogOnePlus(Exp(-abs(v))) : v;
    case OP_HardSwish: return HAS_HardSwish ? v * Clamped(v / 6.0 + 0.5, 0.0, 1.0) : v;
    case OP_Silu: return HAS_Silu ? v / (1.0 + Exp(-v)) : v;
    case OP_Gelu: return HAS_Gelu ? Gelu(v) : v;
    case OP_LeakyRelu: return HAS_LeakyRelu ? (v < 0.0 ? p.alpha * v : v) : v;
    case OP_Elu: return HAS_Elu ? (v < 0.0 ? p.alpha * ExpMinusOne(v) : v) : v;
    case OP_HardSigmoid: return HAS_HardSigmoid ? Clamped(p.alpha * v + p.beta, 0.0, 1.0) : v;
  }
  return v;
}

void main() {
  uint i = FlatIndex();
  if (i >= p.vectors) return;
  vec4 v = vec4(x[i]);
  y[i] = T4(Clamped(vec4(Apply(v.x), Apply(v.y), Apply(v.z), Apply(v.w)), p.low, p.high));
}
