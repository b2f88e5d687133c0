#version 450
#extension GL_GOOGLE_include_directive : require
// Reductions: a work group computes one element, or, where it is alone in its group's lane, an invocation does.
#include "common.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
/// The work group shares the elements of one output; else each invocation has its own output.
layout(constant_id = 2) const bool kShared = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 1) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
  uint count;
  uint reduced;  ///< Elements of one output.
  uint kept_rank;
  uint reduced_rank;
  uint kept_extents[5];
  uint kept_strides[5];
  uint reduced_extents[5];
  uint reduced_strides[5];
} p;

const uint kLanes = gl_WorkGroupSize.x;
shared float lanes[kLanes];

float Joined(float total, float v) {
  switch (kOp) {
    case OP_ReduceMax: return v > total || IsNaN(v) ? v : total;
    case OP_ReduceMin: return v < total || IsNaN(v) ? v : total;
    case OP_ReduceProd: return total * v;
  }
  return total + v;
}

float Initial() {
  switch (kOp) {
    case OP_ReduceMax: return -kInfinity;
    case OP_ReduceMin: return kInfinity;
    case OP_ReduceProd: return 1.0;
  }
  return 0.0;
}

uint FirstOf(uint output_index) {
  uint rest = output_index;
  uint first = 0;
  for (uint axis = p.kept_rank; axis-- > 0;) {
    first += rest % p.kept_extents[axis] * p.kept_strides[axis];
    rest /= p.kept_extents[axis];
  }
  return first;
}

float Element(uint first, uint i) {
  uint rest = i;
  for (uint axis = p.reduced_rank; axis-- > 0;) {
    first += rest % p.reduced_extents[axis] * p.reduced_strides[axis];
    rest /= p.reduced_extents[axis];
  }
  return float(x[first]);
}

float Finished(float total) { return kOp == OP_ReduceMean ? total / float(p.reduced) : total; }

void main() {
  uint output_index = kShared ? FlatGroup() : FlatIndex();
  if (output_index >= p.count) return;
  uint first = FirstOf(output_index);
  uint begin = kShared ? gl_LocalInvocationIndex : 0;
  uint stride = kShared ? kLanes : 1;
  float total = Initial();
  for (uint i = begin; i < p.reduced; i += stride) total = Joined(total, Element(first, i));
  if (!kShared) {
    y[output_index] = T(Finished(total));
    return;
  }
  lanes[gl_LocalInvocationIndex] = total;
  for (uint width = kLanes / 2; width > 0; width /= 2) {
    barrier();
    if (gl_LocalInvocationIndex < width) {
      lanes[gl_LocalInvocationIndex] = Joined(lanes[gl_LocalInvocationIndex], lanes[gl_LocalInvocationIndex + width]);
    }
  }
  if (gl_LocalInvocationIndex == 0) y[output_index] = T(Finished(lanes[0]));
}
