#version 450
#extension GL_GOOGLE_include_directive : require
// Between real numbers and codes with one scale, four elements at a time.
#include "common.glsl"
#include "codes.glsl"

/// What goes in and what comes out; kReals on one side, or on that side kSingle.
layout(constant_id = 1) const uint kFrom = 0;
layout(constant_id = 2) const uint kTo = 0;
/// f32, whatever the storage type.
const uint kSingle = 3;

layout(binding = 0) readonly buffer X { T4 x[]; };
layout(binding = 0) readonly buffer XSingle { vec4 x_single[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) writeonly buffer Y { T4 y[]; };
layout(binding = 1) writeonly buffer YSingle { vec4 y_single[]; };
layout(binding = 1) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint vectors;
  float scale;
  int zero;
  int low;  ///< Of codes.
  int high;
} p;

int Code(float v) {
  if (IsNaN(v)) return p.zero;
  float steps = clamp(v / p.scale, -1024.0, 1024.0);
  float whole = roundEven(steps);
  // A quotient is rounded, what remains of v is not: it tells on which side of half way v lies.
  float leading = LeadingOf(p.scale);
  precise float rest = (v - whole * leading) - whole * (p.scale - leading);
  float bound = 0.5 * p.scale;
  bool is_odd = (int(whole) & 1) != 0;
  if (abs(steps) < 1024.0) {
    if (rest > bound || (rest == bound && is_odd)) {
      whole += 1.0;
    } else if (rest < -bound || (rest == -bound && is_odd)) {
      whole -= 1.0;
    }
  }
  return CodeOf(whole, p.zero, p.low, p.high);
}

void main() {
  uint i = FlatIndex();
  if (i >= p.vectors) return;
  if (kTo == kI8 || kTo == kU8) {
    vec4 v = kFrom == kSingle ? x_single[i] : vec4(x[i]);
    y_word[i] = WordOf(ivec4(Code(v.x), Code(v.y), Code(v.z), Code(v.w)));
    return;
  }
  vec4 real = vec4(LanesOf(x_word[i], kFrom) - p.zero) * p.scale;
  if (kTo == kSingle) {
    y_single[i] = real;
  } else {
    y[i] = T4(real);
  }
}
