#version 450
#extension GL_GOOGLE_include_directive : require
// Running sums along one axis. An invocation walks a line, or a work group shares one: each invocation adds up its part of it,
// then begins with the sum of the parts before its own.
#include "common.glsl"

/// Elements: 0 floats in the storage type, else integers of so many words, which wrap around.
layout(constant_id = 1) const uint kWords = 0;
layout(constant_id = 2) const bool kExclusive = false;
layout(constant_id = 3) const bool kReverse = false;
layout(constant_id = 4) const bool kShared = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(binding = 1) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint lines;
  uint extent;
  uint inner;
} p;

/// A sum of floats is two of them, the second what the first has lost: a long line is as exact as a short one. Of integers
/// their words.
shared uvec2 sums[gl_WorkGroupSize.x];

uvec2 Joined(uvec2 a, uvec2 b) {
  if (kWords != 0) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
  }
  float u = uintBitsToFloat(a.x);
  float v = uintBitsToFloat(b.x);
  precise float sum = u + v;
  precise float of_v = sum - u;
  precise float lost = (u - (sum - of_v)) + (v - of_v);
  precise float behind = (uintBitsToFloat(a.y) + uintBitsToFloat(b.y)) + lost;
  return uvec2(floatBitsToUint(sum), floatBitsToUint(behind));
}

uvec2 Element(uint at) {
  if (kWords == 0) return uvec2(floatBitsToUint(float(x[at])), 0u);
  return kWords == 2 ? uvec2(x_word[2 * at], x_word[2 * at + 1]) : uvec2(x_word[at], 0u);
}

void Write(uint at, uvec2 sum) {
  if (kWords == 0) {
    float first = uintBitsToFloat(sum.x);
    // Nothing is lost of a sum that is infinite, nor is it known.
    bool finite = (sum.x & 0x7fffffffu) < 0x7f800000u;
    y[at] = T(finite ? first + uintBitsToFloat(sum.y) : first);
  } else if (kWords == 1) {
    y_word[at] = sum.x;
  } else {
    y_word[2 * at] = sum.x;
    y_word[2 * at + 1] = sum.y;
  }
}

void main() {
  uint line = kShared ? FlatGroup() : FlatIndex();
  if (line >= p.lines) return;
  uint first = line / p.inner * p.extent * p.inner + line % p.inner;
  uint part = kShared ? (p.extent + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x : p.extent;
  uint begin = kShared ? min(gl_LocalInvocationIndex * part, p.extent) : 0;
  uint end = min(begin + part, p.extent);
  uvec2 sum = uvec2(0);
  if (kShared) {
    for (uint i = begin; i < end; ++i) sum = Joined(sum, Element(first + (kReverse ? p.extent - 1 - i : i) * p.inner));
    sums[gl_LocalInvocationIndex] = sum;
    barrier();
    sum = uvec2(0);
    for (uint k = 0; k < gl_LocalInvocationIndex; ++k) sum = Joined(sum, sums[k]);
  }
  for (uint i = begin; i < end; ++i) {
    uint at = first + (kReverse ? p.extent - 1 - i : i) * p.inner;
    uvec2 before = sum;
    sum = Joined(sum, Element(at));
    Write(at, kExclusive ? before : sum);
  }
}
