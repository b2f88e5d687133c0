#version 450
#extension GL_GOOGLE_include_directive : require
// FakeQuantize: rows of numbers as the codes stand for them that follow from each row's ends (core/row_codes.h).
#include "common.glsl"
#include "math.glsl"

layout(constant_id = 1) const bool kSymmetric = false;
layout(constant_id = 2) const uint kStep = 0;
const uint kAlone = 0;      // An invocation computes a row.
const uint kShared = 1;     // A work group does.
const uint kFindEnds = 2;   // A work group finds the ends of a part of a row,
const uint kRoundPart = 3;  // and rounds it by those of all parts in the next dispatch.

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) readonly buffer Ends { vec2 ends_of_parts[]; };
layout(binding = 2) writeonly buffer Y { T y[]; };
layout(binding = 2) writeonly buffer Found { vec2 found[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint extent;
  uint parts;  ///< Of a row.
  uint part_length;
} p;

const uint kLanes = gl_WorkGroupSize.x;
shared vec2 lanes[kLanes];

/// The smallest and the largest number; NaN stays.
vec2 Joined(vec2 ends, vec2 other) {
  return vec2(other.x < ends.x || IsNaN(other.x) ? other.x : ends.x,
              other.y > ends.y || IsNaN(other.y) ? other.y : ends.y);
}

/// Over the work group; every invocation gets the result.
vec2 Together(vec2 ends) {
  if (kStep == kAlone) return ends;
  lanes[gl_LocalInvocationIndex] = ends;
  for (uint width = kLanes / 2; width > 0; width /= 2) {
    barrier();
    if (gl_LocalInvocationIndex < width)
      lanes[gl_LocalInvocationIndex] = Joined(lanes[gl_LocalInvocationIndex], lanes[gl_LocalInvocationIndex + width]);
  }
  barrier();
  return lanes[0];
}

bool IsFinite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }

/// To the even one of two: what devices promise of sums, and not all of them keep of roundEven.
float NearestWhole(float v) {
  const float kWholeFrom = 12582912.0;
  precise float whole = (v + kWholeFrom) - kWholeFrom;
  return whole;
}

const float kHigh = 127.0;
const float kLow = kSymmetric ? -kHigh : -128.0;

float ScaleOf(vec2 ends) {
  float scale = kSymmetric ? Quotient(max(-ends.x, ends.y), kHigh) : Quotient(ends.y - ends.x, 255.0);
  return scale < 1.17549435e-38 ? 1.0 : scale;
}

float ZeroOf(vec2 ends, float scale) {
  return kSymmetric ? 0.0 : NearestWhole(clamp(Quotient(-ends.x, scale), 0.0, 255.0)) - 128.0;
}

void main() {
  uint part = kStep == kAlone ? FlatIndex() : FlatGroup();
  if (part >= p.rows * p.parts) return;
  uint row = part / p.parts;
  uint first = row * p.extent;
  uint lane = kStep == kAlone ? 0 : gl_LocalInvocationIndex;
  uint stride = kStep == kAlone ? 1 : kLanes;
  uint begin = part % p.parts * p.part_length + lane;
  uint end = min(begin - lane + p.part_length, p.extent);

  vec2 ends = vec2(0.0);
  if (kStep == kRoundPart) {
    for (uint i = lane; i < p.parts; i += stride) ends = Joined(ends, ends_of_parts[row * p.parts + i]);
  } else {
    for (uint i = begin; i < end; i += stride) ends = Joined(ends, vec2(float(x[first + i])));
  }
  ends = Together(ends);
  if (kStep == kFindEnds) {
    if (lane == 0) found[part] = ends;
    return;
  }

  float scale = ScaleOf(ends);
  bool known = IsFinite(ends.x) && IsFinite(ends.y) && IsFinite(scale);
  float zero = ZeroOf(ends, scale);
  for (uint i = begin; i < end; i += stride) {
    float code = NearestWhole(Quotient(float(x[first + i]), scale)) + zero;
    float real = (clamp(code, kLow, kHigh) - zero) * scale;
    y[first + i] = T(known ? real : uintBitsToFloat(0x7fc00000u));
  }
}
