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

  bool HasInputGate() const { return input[0] != kNoValue; }
};

struct LstmStates {
  ValueId states = kNoValue;  ///< [T, B, H].
  ValueId last_state = kNoValue;
  ValueId last_cell = kNoValue;
};

/// Layers that are just an LSTM become one node for all steps; others, and those whose states are integers,
/// are unrolled, for which the number of steps must be known (of one whose states are integers: else they are
/// rounded behind the last step alone).
LstmStates EmitLstm(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                    ValueId first_state, ValueId first_cell, bool reverse);

/// states[t] = activation(W x[t] + R states[t - 1] + bias); [T, B, H].
LstmStates EmitRnn(TfliteBuilder& b, const std::string& name, ValueId x, ValueId weights, ValueId recurrent,
                   ValueId bias, ValueId first_state, tflite::Activation activation, bool reverse);

}  // namespace skiff
