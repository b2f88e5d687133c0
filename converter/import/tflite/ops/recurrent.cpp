// TensorFlow Lite rows: recurrent layers, whose state is kept in variable tensors.
#include "import/tflite/recurrent.h"

#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

ValueId ReadState(TfliteBuilder& b, size_t input) {
  if (input >= b.source().variables.size() || b.source().variables[input].empty()) {
    if (b.HasInput(input)) return b.Input(input);
    b.Invalid("input {}, its state, is missing", input);
  }
  return b.source().read_variable(b.source().variables[input]);
}

/// In the type of the variable.
void WriteState(TfliteBuilder& b, const char* suffix, size_t input, ValueId value) {
  if (input >= b.source().variables.size() || b.source().variables[input].empty()) return;
  const ValueId state = ReadState(b, input);
  if (b.IsQuantized(state))
    value = b.EmitQuantized(suffix, OpCode::kQuantize, {value}, b.DTypeOf(state), b.QuantizationOf(state));
  b.source().assign_variable(b.source().variables[input], value);
}

ValueId TimeMajor(TfliteBuilder& b, const char* suffix, ValueId x, bool time_major) {
  return time_major ? x : EmitTranspose(b, suffix, x, {1, 0, 2});
}

/// `weights`: the first of the inputs that are not the sequence.
LstmWeights WeightsFrom(const TfliteBuilder& b, size_t weights) {
  LstmWeights read;
  const auto four = [&](size_t first) {
    std::array<ValueId, 4> values;
    for (size_t i = 0; i < 4; ++i) values[i] = b.OptionalInput(first + i);
    return values;
  };
  read.input = four(weights);
  read.recurrent = four(weights + 4);
  for (size_t i = 0; i < 3; ++i) read.peephole[i] = b.OptionalInput(weights + 8 + i);
  read.bias = four(weights + 11);
  read.projection = b.OptionalInput(weights + 15);
  read.projection_bias = b.OptionalInput(weights + 16);
  read.normal.fill(kNoValue);
  read.auxiliary.fill(kNoValue);
  for (size_t gate = 0; gate < 4; ++gate) {
    const bool wanted = gate > 0 || read.HasInputGate();
    if ((read.input[gate] != kNoValue) != wanted || (read.recurrent[gate] != kNoValue) != wanted)
      b.Invalid("the weights of a gate are missing");
  }
  const bool biased = read.bias[1] != kNoValue;
  for (size_t gate = read.HasInputGate() ? 0 : 1; gate < 4; ++gate) {
    if ((read.bias[gate] != kNoValue) != biased) b.Invalid("the bias of a gate is missing");
  }
  const bool looks = read.peephole[1] != kNoValue;
  if ((read.peephole[2] != kNoValue) != looks ||
      (read.peephole[0] != kNoValue) != (looks && read.HasInputGate()))
    b.Invalid("the weights of a peephole are missing");
  return read;
}

template <class Options>
void SetOptions(const Options& options, LstmWeights& weights) {
  weights.cell_clip = options.cell_clip;
  weights.projection_clip = options.projection_clip;
  weights.activation = options.activation;
}

void EmitSequenceLstm(TfliteBuilder& b, ValueId x, LstmWeights weights, bool time_major, bool one_step) {
  if (b.input_count() >= 24) {
    for (size_t gate = 0; gate < 4; ++gate) weights.normal[gate] = b.OptionalInput(20 + gate);
  }
  const ValueId state = ReadState(b, 18);
  if (b.IsQuantized(state) && SizeOf(b.source().node->intermediates()) == 5) {
    for (uint32_t gate = 0; gate < 4; ++gate) {
      if (weights.normal[gate] != kNoValue) weights.rounded_sums[gate] = b.source().intermediate(gate);
    }
    if (weights.projection != kNoValue) weights.rounded_hidden = b.source().intermediate(4);
  }
  const LstmStates made = EmitLstm(b, "lstm", x, weights, state, ReadState(b, 19), false);
  WriteState(b, "next_state", 18, made.last_state);
  WriteState(b, "next_cell", 19, made.last_cell);
  b.OutputValue(one_step ? made.last_state : TimeMajor(b, "batch_major", made.states, time_major));
}

void BuildSequenceLstm(TfliteBuilder& b) {
  const auto options = b.Options<tflite::UnidirectionalSequenceLSTMOptions>();
  if (options.diagonal_recurrent_tensors) b.Unsupported("has recurrent weights that are diagonals");
  LstmWeights weights = WeightsFrom(b, 1);
  SetOptions(options, weights);
  EmitSequenceLstm(b, TimeMajor(b, "time_major", b.Input(0), options.time_major), weights, options.time_major,
                   false);
}

/// One step; a basic one has the weights of all gates in one matrix over [x, state], in the order input,
/// cell, forget, output.
void BuildBasicLstm(TfliteBuilder& b) {
  if (b.IsQuantized(b.Input(0))) b.Unsupported("is a basic LSTM of integers; convert the net again");
  const ValueId joined = b.Emit("joined", OpCode::kConcat, {b.Input(0), b.Input(1)}, AxisAttrs{1});
  const ValueId gates = b.Emit("gates", OpCode::kFullyConnected,
                               {joined, b.Real("weights", b.Input(2)), b.OptionalInput(3)}, ClampAttrs{});
  const std::vector<ValueId> parts =
      b.EmitAll({"input", "taken", "forget", "shown"}, OpCode::kSplit, {gates}, SplitAttrs{1, 4});
  const auto sigmoid = [&](const char* name, ValueId x) { return b.Emit(name, OpCode::kSigmoid, {x}); };
  const ValueId added =
      EmitMul(b, "added", sigmoid("input_gate", parts[0]), b.Emit("tanh", OpCode::kTanh, {parts[1]}));
  const ValueId kept = EmitMul(b, "kept", sigmoid("forget_gate", parts[2]), b.Input(4));
  const ValueId cell = EmitAdd(b, "cell", added, kept);
  const ValueId state =
      EmitMul(b, "state", sigmoid("output_gate", parts[3]), b.Emit("cell_tanh", OpCode::kTanh, {cell}));
  const ValueId results[] = {state, cell, joined, gates};
  for (size_t i = 0; i < std::min<size_t>(b.output_count(), 4); ++i) b.OutputValue(results[i], i);
}

void BuildLstm(TfliteBuilder& b) {
  const auto options = b.Options<tflite::LSTMOptions>();
  if (options.kernel_type == 1) return BuildBasicLstm(b);
  LstmWeights weights = WeightsFrom(b, 1);
  SetOptions(options, weights);
  EmitSequenceLstm(b, EmitUnsqueeze(b, "steps", b.Input(0), {0}), weights, true, true);
}

/// Directions are joined, or are two outputs.
void OutputDirections(TfliteBuilder& b, ValueId forward, ValueId backward, bool merge, bool time_major) {
  forward = TimeMajor(b, "forward_batch_major", forward, time_major);
  backward = TimeMajor(b, "backward_batch_major", backward, time_major);
  if (merge) return b.OutputValue(b.Emit("joined", OpCode::kConcat, {forward, backward}, AxisAttrs{2}));
  b.OutputValue(forward);
  b.OutputValue(backward, 1);
}

void BuildBidirectionalLstm(TfliteBuilder& b) {
  const auto options = b.Options<tflite::BidirectionalSequenceLSTMOptions>();
  const ValueId x = TimeMajor(b, "time_major", b.Input(0), options.time_major);
  LstmWeights weights[] = {WeightsFrom(b, 1), WeightsFrom(b, 18)};
  ValueId auxiliary = b.OptionalInput(39);
  if (auxiliary != kNoValue) auxiliary = TimeMajor(b, "auxiliary_time_major", auxiliary, options.time_major);
  const bool parallel = auxiliary != kNoValue && b.OptionalInput(41) == kNoValue;
  LstmStates made[2];
  for (size_t i = 0; i < 2; ++i) {
    SetOptions(options, weights[i]);
    const std::string name = i == 0 ? "forward" : "backward";
    if (!parallel && auxiliary != kNoValue) {
      weights[i].auxiliary_input = auxiliary;
      for (size_t gate = 0; gate < 4; ++gate) weights[i].auxiliary[gate] = b.OptionalInput(40 + 4 * i + gate);
    }
    // Without weights of its own, the auxiliary sequence is the backward direction's input.
    made[i] = EmitLstm(b, name, parallel && i == 1 ? auxiliary : x, weights[i], ReadState(b, 35 + 2 * i),
                       ReadState(b, 36 + 2 * i), i == 1);
    WriteState(b, (name + "_next_state").c_str(), 35 + 2 * i, made[i].last_state);
    WriteState(b, (name + "_next_cell").c_str(), 36 + 2 * i, made[i].last_cell);
  }
  OutputDirections(b, made[0].states, made[1].states, options.merge_outputs, options.time_major);
}

void BuildSequenceRnn(TfliteBuilder& b) {
  const auto options = b.Options<tflite::SequenceRNNOptions>();
  const ValueId x = TimeMajor(b, "time_major", b.Input(0), options.time_major);
  const LstmStates made = EmitRnn(b, "rnn", x, b.Input(1), b.Input(2), b.OptionalInput(3), ReadState(b, 4),
                                  options.activation, false);
  WriteState(b, "next_state", 4, made.last_state);
  b.OutputValue(TimeMajor(b, "batch_major", made.states, options.time_major));
}

void BuildRnn(TfliteBuilder& b) {
  const auto options = b.Options<tflite::RNNOptions>();
  const ValueId x = EmitUnsqueeze(b, "steps", b.Input(0), {0});
  const LstmStates made = EmitRnn(b, "rnn", x, b.Input(1), b.Input(2), b.OptionalInput(3), ReadState(b, 4),
                                  options.activation, false);
  WriteState(b, "next_state", 4, made.last_state);
  b.OutputValue(made.last_state);
}

void BuildBidirectionalRnn(TfliteBuilder& b) {
  const auto options = b.Options<tflite::BidirectionalSequenceRNNOptions>();
  if (b.HasInput(9)) b.Unsupported("has an auxiliary input");
  const ValueId x = TimeMajor(b, "time_major", b.Input(0), options.time_major);
  LstmStates made[2];
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "forward" : "backward";
    const size_t first = 1 + 4 * i;
    made[i] = EmitRnn(b, name, x, b.Input(first), b.Input(first + 1), b.OptionalInput(first + 2),
                      ReadState(b, first + 3), options.activation, i == 1);
    WriteState(b, (name + "_next_state").c_str(), first + 3, made[i].last_state);
  }
  OutputDirections(b, made[0].states, made[1].states, options.merge_outputs, options.time_major);
}

/// A rank-R filter over the last steps: features of this step join those that are remembered, which the
/// second weights weigh; R neighbours make one unit (Nakkiran et al., Compressing deep neural networks using
/// a rank-constrained topology, 2015).
void BuildSvdf(TfliteBuilder& b) {
  const auto options = b.Options<tflite::SVDFOptions>();
  const ValueId in_time = b.Real("time_weights", b.Input(2));
  const auto shape = b.ExtentsOf(in_time, 0, 2);
  if (!shape || options.rank < 1 || (*shape)[0] % options.rank != 0 || (*shape)[1] < 1)
    b.Invalid("its weights in time do not fit its rank {}", options.rank);
  const int64_t filters = (*shape)[0];
  const int64_t memory = (*shape)[1];
  const ValueId variable = ReadState(b, 4);
  const ValueId state = b.Real("real_state", variable);
  const ValueId remembered = EmitReshape(b, "remembered", state, {-1, filters, memory});
  const ValueId features =
      b.Emit("features", OpCode::kFullyConnected,
             {b.Real("real", b.Input(0)), b.Real("weights", b.Input(1)), kNoValue}, ClampAttrs{});
  const ValueId kept = RoundedAs(b, "kept_features", features, KindOf(b, variable));
  const ValueId newest = EmitUnsqueeze(b, "newest", kept, {2});
  ValueId window = newest;
  if (memory > 1)
    window = b.Emit("window", OpCode::kConcat, {EmitSlice(b, "older", remembered, 2, 1, memory), newest},
                    AxisAttrs{2});
  WriteState(b, "next_state", 4, EmitReshape(b, "state", window, {-1, filters * memory}));
  ReduceAttrs last;
  last.axes = {2};
  last.keep_dims = false;
  const ValueId weighed =
      b.Emit("weighed", OpCode::kReduceSum, {EmitMul(b, "products", window, in_time)}, last);
  ValueId units =
      b.Emit("units", OpCode::kReduceSum,
             {EmitReshape(b, "ranks", weighed, {-1, filters / options.rank, options.rank})}, last);
  if (b.HasInput(3))
    units = EmitAdd(b, "biased", units, RealBias(b, "bias", b.Input(3), variable, b.Input(2)));
  b.OutputActivated(units, options.activation);
}

constexpr TfliteOp kRows[] = {
    {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, BuildSequenceLstm},
    {Op::BIDIRECTIONAL_SEQUENCE_LSTM, BuildBidirectionalLstm},
    {Op::LSTM, BuildLstm},
    {Op::UNIDIRECTIONAL_SEQUENCE_RNN, BuildSequenceRnn},
    {Op::BIDIRECTIONAL_SEQUENCE_RNN, BuildBidirectionalRnn},
    {Op::RNN, BuildRnn},
    {Op::SVDF, BuildSvdf},
};

}  // namespace

std::span<const TfliteOp> TfliteRecurrentOps() { return kRows; }

}  // namespace skiff
