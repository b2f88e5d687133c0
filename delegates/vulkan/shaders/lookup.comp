#version 450
#extension GL_GOOGLE_include_directive : require
// A function from 8 bits to 8 bits: the host computed it for all of them.
#include "common.glsl"

layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) readonly buffer Table { uint table[]; };
layout(binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push { uint words; } p;

void main() {
  uint i = FlatIndex();
  if (i >= p.words) return;
  uint from = x[i];
  uint word = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    uint code = from >> shift & 255u;
    word |= BYTE_OF(table, code) << shift;
  }
  y[i] = word;
}
