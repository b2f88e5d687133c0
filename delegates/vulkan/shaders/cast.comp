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

/// Toward zero, saturated; NaN is 0.
int Truncated(float v) {
  if (IsNaN(v)) return 0;
  if (v >= 2147483648.0) return 2147483647;
  if (v <= -2147483648.0) return int(0x80000000u);
  return int(v);
}

void main() {
  uint i = FlatIndex();
  if (i >= p.count) return;
  if (kFrom == kFloat) {
    float v = float(x[i]);
    if (kTo == kBool) {
      y_int[i] = v != 0.0 ? 1 : 0;
    } else {
      y_int[i] = Truncated(v);
    }
    return;
  }
  int low = kFrom == kInt64 ? x_int[2 * i] : x_int[i];
  int high = kFrom == kInt64 ? x_int[2 * i + 1] : (low < 0 ? -1 : 0);
  if (kTo == kFloat) {
    y[i] = T(float(low));
  } else if (kTo == kBool) {
    y_int[i] = low != 0 || (kFrom == kInt64 && high != 0) ? 1 : 0;
  } else if (kTo == kInt64) {
    y_int[2 * i] = low;
    y_int[2 * i + 1] = high;
  } else {
    y_int[i] = low;
  }
}
