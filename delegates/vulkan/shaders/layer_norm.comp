#version 450
#extension GL_GOOGLE_include_directive : require
// Layer normalisation over the last axes: a work group computes one row.
#include "common.glsl"

layout(constant_id = 1) const bool kBias = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) readonly buffer S { T scale[]; };
layout(binding = 2) readonly buffer B { T bias[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint extent;
  float epsilon;
} p;

const uint kLanes = gl_WorkGroupSize.x;
shared float lanes[kLanes];

float Sum(float v) {
  lanes[gl_LocalInvocationIndex] = v;
  for (uint width = kLanes / 2; width > 0; width /= 2) {
    barrier();
    if (gl_LocalInvocationIndex < width) lanes[gl_LocalInvocationIndex] += lanes[gl_LocalInvocationIndex + width];
  }
  barrier();
  float result = lanes[0];
  barrier();
  return result;
}

void main() {
  uint row = FlatGroup();
  if (row >= p.rows) return;
  uint first = row * p.extent;
  float sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < p.extent; i += kLanes) sum += float(x[first + i]);
  float mean = Sum(sum) / float(p.extent);
  float squares = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < p.extent; i += kLanes) {
    float deviation = float(x[first + i]) - mean;
    squares += deviation * deviation;
  }
  float divisor = sqrt(Sum(squares) / float(p.extent) + p.epsilon);
  for (uint i = gl_LocalInvocationIndex; i < p.extent; i += kLanes) {
    float v = (float(x[first + i]) - mean) / divisor * float(scale[i]);
    if (kBias) v += float(bias[i]);
    y[first + i] = T(v);
  }
}
