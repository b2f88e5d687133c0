#version 450
#extension GL_GOOGLE_include_directive : require
// Steps of a recurrent layer. x is what the sequence adds to the gates; here the product of the state with the recurrent
// weights joins it. The state is f32 in both storage types, because it is rounded at every step. kTogether: a work group
// runs many steps of one sequence, whose state is in shared memory. Otherwise a dispatch is one step of all sequences, and
// a work group computes kWidth units of one, so that the whole device reads the weights.
#include "common.glsl"
#include "math.glsl"
#include "ops.glsl"

layout(constant_id = 1) const uint kOp = 0;
/// Lstm: has peepholes. Gru: resets after the product. Rnn: ReLU in place of tanh.
layout(constant_id = 2) const bool kVariant = false;
layout(constant_id = 3) const uint kHidden = 1;
/// Units that are computed side by side, a power of two. Where there are more invocations, several share a unit's sums.
layout(constant_id = 4) const uint kWidth = 1;
layout(constant_id = 5) const bool kTogether = false;

const uint kGates = kOp == OP_Lstm ? 4 : (kOp == OP_Gru ? 3 : 1);
/// The candidate's product needs what the reset gate leaves of all units: a step has two parts.
const bool kResetsBefore = kOp == OP_Gru && !kVariant;
const bool kResetsAfter = kOp == OP_Gru && kVariant;
const uint kLanes = gl_WorkGroupSize.x;
const uint kUnits = kWidth < kLanes ? kWidth : kLanes;
/// Of the state, in four units.
const uint kDepth = (kHidden + 3) / 4;
const uint kSlices = kLanes / kUnits < kDepth ? kLanes / kUnits : kDepth;

layout(binding = 0) readonly buffer X { T x[]; };  // [step][sequence][gate][unit].
/// [depth][gate][unit][4], the biases [gate][unit], the peepholes of input, output and forget gate [unit].
layout(binding = 1) readonly buffer W { T weights[]; };
layout(binding = 1) readonly buffer W4 { T4 weights4[]; };
/// [sequence][unit] four times: the state behind even steps, behind odd ones, the cell, what the reset leaves; then the
/// sequences' lengths.
layout(binding = 2) buffer S { float state[]; };
layout(binding = 2) buffer L { int state_word[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };  // [step][sequence][unit].
layout(push_constant) uniform Push {
  uint steps;
  uint batch;
  uint first;  ///< The dispatch's steps are [first, end), counted in the order in which they run.
  uint end;
  uint first_part;  ///< Of a step.
  uint end_part;
  uint zero_state;  ///< In front of the first step.
  uint zero_cell;
  uint has_lengths;
  uint reverse;
  float cell_clip;
} p;

shared float sums_of_slices[kSlices > 1 ? kGates * kLanes : 1];
shared float shared_state[kTogether ? 2 * kHidden : 1];
shared float shared_left[kTogether && kResetsBefore ? kHidden : 1];

uint InState(uint what, uint sequence, uint unit) { return (what * p.batch + sequence) * kHidden + unit; }

const uint kBiases = kDepth * 4 * kGates * kHidden;
const uint kPeepholes = kBiases + kGates * kHidden;

/// The state in front of a step.
float Before(uint step, uint sequence, uint unit) {
  if (kTogether) return shared_state[step % 2 * kHidden + unit];
  return step == 0 && p.zero_state != 0 ? 0.0 : state[InState(step % 2, sequence, unit)];
}

float Left(uint sequence, uint unit) { return kTogether ? shared_left[unit] : state[InState(3, sequence, unit)]; }

/// From unit `k` on; 0 beyond the last.
vec4 FourBefore(uint step, uint sequence, uint k) {
  vec4 four;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    four[i] = kHidden % 4 == 0 || k + i < kHidden ? Before(step, sequence, k + i) : 0.0;
  return four;
}

vec4 FourLeft(uint sequence, uint k) {
  vec4 four;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    four[i] = kHidden % 4 == 0 || k + i < kHidden ? Left(sequence, k + i) : 0.0;
  return four;
}

bool IsInPart(uint gate, uint part) { return !kResetsBefore || (part == 0) == (gate == 1); }

/// The unit's state behind the step, from its sums of products and biases.
void Update(float sums[4], uint step, uint part, uint sequence, uint unit) {
  uint at = p.reverse != 0 ? p.steps - 1 - step : step;
  bool ended = p.has_lengths != 0 && int(at) >= state_word[InState(4, 0, 0) + sequence];
  uint row = at * p.batch + sequence;
  uint in_x = row * kGates * kHidden + unit;
  uint in_cell = InState(2, sequence, unit);
  float before = Before(step, sequence, unit);
  float cell = 0.0;
  [[unroll]] for (uint gate = 0; gate < 4; ++gate)
    if (gate < kGates && !(kResetsAfter && gate == 2)) sums[gate] += float(x[in_x + gate * kHidden]);
  if (kOp == OP_Lstm) {
    cell = step == 0 && p.zero_cell != 0 ? 0.0 : state[in_cell];
    if (kVariant) {
      sums[0] += float(weights[kPeepholes + unit]) * cell;
      sums[2] += float(weights[kPeepholes + 2 * kHidden + unit]) * cell;
    }
  }
  // The functions are written once for all operators: they are most of the shader.
  float first = Sigmoid(sums[0]);
  float second = Sigmoid(kOp == OP_Lstm ? sums[2] : sums[1]);
  if (kResetsBefore && part == 0) {
    if (kTogether) {
      shared_left[unit] = second * before;
    } else {
      state[InState(3, sequence, unit)] = second * before;
    }
    return;
  }
  if (kResetsAfter) sums[2] = float(x[in_x + 2 * kHidden]) + second * sums[2];
  float sum = kOp == OP_Lstm ? sums[3] : (kOp == OP_Gru ? sums[2] : sums[0]);
  float candidate = kOp == OP_Rnn && kVariant ? (sum < 0.0 ? 0.0 : sum) : Tanh(sum);
  float after = candidate;
  if (kOp == OP_Gru) after = (1.0 - first) * candidate + first * before;
  if (kOp == OP_Lstm) {
    float next = second * cell + first * candidate;
    next = next < -p.cell_clip ? -p.cell_clip : (next > p.cell_clip ? p.cell_clip : next);  // NaN stays.
    if (kVariant) sums[1] += float(weights[kPeepholes + kHidden + unit]) * next;
    state[in_cell] = ended ? cell : next;
    after = Sigmoid(sums[1]) * Tanh(next);
  }
  y[row * kHidden + unit] = T(ended ? 0.0 : after);
  after = ended ? before : after;
  if (kTogether) {
    shared_state[(step + 1) % 2 * kHidden + unit] = after;
  } else {
    state[InState((step + 1) % 2, sequence, unit)] = after;
  }
}

/// kUnits units from `first` on.
void Compute(uint step, uint part, uint sequence, uint first) {
  uint slice = gl_LocalInvocationIndex / kUnits;
  uint unit = first + gl_LocalInvocationIndex % kUnits;
  float sums[4] = float[4](0.0, 0.0, 0.0, 0.0);
  for (uint k = unit < kHidden ? slice : kDepth; k < kDepth; k += kSlices) {
    vec4 before = FourBefore(step, sequence, 4 * k);
    vec4 left = kResetsBefore && part == 1 ? FourLeft(sequence, 4 * k) : before;
    [[unroll]] for (uint gate = 0; gate < 4; ++gate) {
      if (gate < kGates && IsInPart(gate, part)) {
        vec4 w = vec4(weights4[(k * kGates + gate) * kHidden + unit]);
        vec4 s = gate == 2 ? left : before;
        sums[gate] = fma(w.x, s.x, fma(w.y, s.y, fma(w.z, s.z, fma(w.w, s.w, sums[gate]))));
      }
    }
  }
  if (kSlices > 1) {
    [[unroll]] for (uint gate = 0; gate < 4; ++gate)
      if (gate < kGates) sums_of_slices[gate * kLanes + gl_LocalInvocationIndex] = sums[gate];
    barrier();
    for (uint other = 1; slice == 0 && other < kSlices; ++other) {
      [[unroll]] for (uint gate = 0; gate < 4; ++gate)
        if (gate < kGates) sums[gate] += sums_of_slices[gate * kLanes + other * kUnits + gl_LocalInvocationIndex];
    }
    barrier();
  }
  if (slice != 0 || unit >= kHidden) return;
  [[unroll]] for (uint gate = 0; gate < 4; ++gate)
    if (gate < kGates) sums[gate] += float(weights[kBiases + gate * kHidden + unit]);
  Update(sums, step, part, sequence, unit);
}

void main() {
  uint begin = 0;
  uint end = kHidden;
  uint sequence = FlatGroup();
  if (!kTogether) {
    uint groups = (kHidden + kWidth - 1) / kWidth;
    begin = sequence % groups * kWidth;
    end = min(begin + kWidth, kHidden);
    sequence /= groups;
  }
  if (sequence >= p.batch) return;
  for (uint unit = gl_LocalInvocationIndex; kTogether && unit < kHidden; unit += kLanes) {
    bool zero = p.first == 0 && p.zero_state != 0;
    shared_state[p.first % 2 * kHidden + unit] = zero ? 0.0 : state[InState(p.first % 2, sequence, unit)];
  }
  barrier();
  for (uint step = p.first; step < p.end; ++step) {
    for (uint part = p.first_part; part < p.end_part; ++part) {
      for (uint unit = begin; unit < end; unit += kUnits) Compute(step, part, sequence, unit);
      barrier();
    }
  }
  for (uint unit = gl_LocalInvocationIndex; kTogether && unit < kHidden; unit += kLanes)
    state[InState(p.end % 2, sequence, unit)] = shared_state[p.end % 2 * kHidden + unit];
}
