/// Recurrent layers of TensorFlow Lite as Skiff's, over time-major sequences of real numbers.
#pragma once

#include <array>

#include "import/tflite/builder.h"

namespace skiff {

/// The inputs of one direction of an LSTM, kNoValue where the operator has none. Gates are input, forget,
/// cell and output; without an input gate, what is not forgotten is taken in.
struct LstmWeights {
  std::array<ValueId, 4> input, recurrent, bias, normal;
  std::array<ValueId, 3> peephole;  ///< Of input, forget and output gate.
  ValueId projection = kNoValue;
  ValueId projection_bias = kNoValue;
  /// What another sequence adds to the gates, and that sequence [T, B, I].
  std::array<ValueId, 4> auxiliary;
  ValueId auxiliary_input = kNoValue;
  float cell_clip = 0;  ///< 0: none.
  float projection_clip = 0;
  tflite::Activation activation = tflite::Activation::TANH;
  /// Where an LSTM of integers rounds the sums of its gates in front of their normalisation, and its state in
  /// front of the projection.
  std::array<DeclaredType, 4> rounded_sums;
  DeclaredType rounded_hidden;

  bool HasInputGate() const { return input[0] != kNoValue; }
};

struct LstmStates {
  ValueId states = kNoValue;  ///< [T, B, H].
  ValueId last_state = kNoValue;
  ValueId last_cell = kNoValue;
};

/// A bias as real numbers: one of integers has the scale of the products of x and the weights.
ValueId RealBias(TfliteBuilder& b, const std::string& name, ValueId bias, ValueId x, ValueId weights);

/// A real number as a variable keeps it that is quantised: rounded, within the range of its integers.
ValueId RoundedAs(NodeBuilder& b, const std::string& name, ValueId value, const DeclaredType& variable);
DeclaredType KindOf(const TfliteBuilder& b, ValueId variable);

/// Layers that are just an LSTM become one node for all steps; of one whose states are integers, each step
/// rounds them: its steps are unrolled, or a loop. Others are unrolled, for which the number of steps must be
/// known.
LstmStates EmitLstm(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                    ValueId first_state, ValueId first_cell, bool reverse);

/// states[t] = activation(W x[t] + R states[t - 1] + bias); [T, B, H].
LstmStates EmitRnn(TfliteBuilder& b, const std::string& name, ValueId x, ValueId weights, ValueId recurrent,
                   ValueId bias, ValueId first_state, tflite::Activation activation, bool reverse);

}  // namespace skiff
