#version 450
#extension GL_GOOGLE_include_directive : require
// Softmax and LogSoftmax along one axis: a work group computes one row, or, kShared off, an invocation does.
#include "common.glsl"
#include "math.glsl"

layout(constant_id = 1) const bool kLog = false;
layout(constant_id = 2) const bool kShared = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint extent;
  uint inner;
} p;

const uint kLanes = gl_WorkGroupSize.x;
shared float lanes[kLanes];

/// Over the work group; every invocation gets the result.
float Together(float v, bool is_sum) {
  if (!kShared) return v;
  lanes[gl_LocalInvocationIndex] = v;
  for (uint width = kLanes / 2; width > 0; width /= 2) {
    barrier();
    if (gl_LocalInvocationIndex < width) {
      float other = lanes[gl_LocalInvocationIndex + width];
      float own = lanes[gl_LocalInvocationIndex];
      lanes[gl_LocalInvocationIndex] = is_sum ? own + other : max(own, other);
    }
  }
  barrier();
  float result = lanes[0];
  barrier();
  return result;
}

void main() {
  uint row = kShared ? FlatGroup() : FlatIndex();
  if (row >= p.rows) return;
  uint first = row / p.inner * p.extent * p.inner + row % p.inner;
  uint begin = kShared ? gl_LocalInvocationIndex : 0;
  uint stride = kShared ? kLanes : 1;
  float highest = -kInfinity;
  for (uint i = begin; i < p.extent; i += stride) {
    float v = float(x[first + i * p.inner]);
    highest = v > highest ? v : highest;
  }
  highest = Together(highest, false);
  float sum = 0.0;
  for (uint i = begin; i < p.extent; i += stride) sum += Exp(float(x[first + i * p.inner]) - highest);
  sum = Together(sum, true);
  float log_sum = kLog ? Log(sum) : 0.0;
  for (uint i = begin; i < p.extent; i += stride) {
    float shifted = float(x[first + i * p.inner]) - highest;
    y[first + i * p.inner] = T(kLog ? shifted - log_sum : Exp(shifted) / sum);
  }
}
