#version 450
#extension GL_GOOGLE_include_directive : require
// Pads and crops; what lies outside is a constant or a repetition of what is inside.
#include "common.glsl"

const uint kConstant = 0;
const uint kReflect = 1;
const uint kEdge = 2;
const uint kWrap = 3;
/// Elements: 0 floats in the storage type, 1 32-bit words, kBytes bytes.
layout(constant_id = 1) const uint kWords = 0;
layout(constant_id = 2) const uint kMode = 0;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer XWord { uint x_word[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(binding = 1) writeonly buffer YWord { uint y_word[]; };
layout(push_constant) uniform Push {
  uint count;
  uint rank;
  uint x_first;
  uint value;  ///< Outside; the bits of a float, or a word.
  uint extents[7];  ///< Of the output.
  int begins[7];    ///< Where in the output the kept elements begin.
  int kept[7];
  uint x_strides[7];
} p;

int Source(int i, int kept) {
  if (i >= 0 && i < kept) return i;
  if (kMode == kEdge) return i < 0 ? 0 : kept - 1;
  int period = kMode == kWrap ? kept : 2 * (kept - 1);
  if (period == 0) return 0;
  int phase = i < 0 ? (period - 1) - (-1 - i) % period : i % period;
  return phase < kept ? phase : period - phase;
}

/// Whether element i has a source.
bool FindSource(uint i, out uint from) {
  uint rest = i;
  from = p.x_first;
  bool inside = true;
  for (uint axis = p.rank; axis-- > 0;) {
    int index = int(rest % p.extents[axis]) - p.begins[axis];
    rest /= p.extents[axis];
    if (kMode == kConstant) {
      inside = inside && index >= 0 && index < p.kept[axis];
    } else {
      index = Source(index, p.kept[axis]);
    }
    from += uint(index) * p.x_strides[axis];
  }
  return inside;
}

void main() {
  uint i = FlatIndex();
  uint from;
  if (kWords == kBytes) {
    if (4 * i >= p.count) return;
    uint word = 0;
    for (uint k = 0; k < 4 && 4 * i + k < p.count; ++k) {
      uint value = p.value & 255u;
      if (FindSource(4 * i + k, from)) value = BYTE_OF(x_word, from);
      word |= value << (8 * k);
    }
    y_word[i] = word;
    return;
  }
  if (i >= p.count) return;
  bool inside = FindSource(i, from);
  if (kWords == 0) {
    if (inside) {
      y[i] = x[from];
    } else {
      y[i] = T(uintBitsToFloat(p.value));
    }
  } else {
    uint word = p.value;
    if (inside) word = x_word[from];
    y_word[i] = word;
  }
}
