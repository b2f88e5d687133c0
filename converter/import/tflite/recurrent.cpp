#include "import/tflite/recurrent.h"

#include <algorithm>

#include "ops/op_codes.h"

namespace skiff {
namespace {

using tflite::Activation;

/// Steps that are unrolled at most.
constexpr int64_t kMaxSteps = 256;

bool IsPlain(const LstmWeights& weights) {
  return weights.HasInputGate() && weights.projection == kNoValue && weights.normal[1] == kNoValue &&
         weights.auxiliary[1] == kNoValue && weights.activation == Activation::TANH;
}

/// Rows of all gates as one matrix. Constants of i8 keep their integers, each row with its gate's scale.
ValueId JoinedRows(TfliteBuilder& b, const std::string& name, const std::vector<ValueId>& gates) {
  std::vector<float> scales;
  std::vector<int8_t> codes;
  int64_t columns = -1;
  for (const ValueId gate : gates) {
    const TensorData* constant = b.ConstantOf(gate);
    const bool fits = constant != nullptr && constant->dtype() == DType::kI8 && constant->quantization() &&
                      constant->quantization()->per_tensor() && constant->quantization()->zero_point == 0 &&
                      constant->shape().rank() == 2 && (columns < 0 || constant->shape()[1] == columns);
    if (!fits) {
      std::vector<ValueId> real;
      for (const ValueId part : gates) real.push_back(b.Real((name + "_real").c_str(), part));
      return b.Emit(name.c_str(), OpCode::kConcat, real, AxisAttrs{0});
    }
    columns = constant->shape()[1];
    scales.insert(scales.end(), static_cast<size_t>(constant->shape()[0]), constant->quantization()->scale);
    codes.insert(codes.end(), constant->as<int8_t>(), constant->as<int8_t>() + constant->elements());
  }
  const TensorData joined(DType::kI8, Shape{static_cast<int64_t>(scales.size()), columns}, codes.data());
  const ValueId constant = b.Constant((name + "_codes").c_str(), joined.Quantized(PerAxis(0, scales)));
  return b.Emit(name.c_str(), OpCode::kDequantize, {constant});
}

/// Biases of integers have the scale of what they are added to.
ValueId RealBias(TfliteBuilder& b, const std::string& name, ValueId bias, ValueId x, ValueId weights) {
  if (bias == kNoValue || IsFloat(b.DTypeOf(bias))) return bias;
  const TensorData* constant = b.ConstantOf(bias);
  if (constant == nullptr || !b.IsQuantized(x) || !b.IsQuantized(weights))
    b.Unsupported("has a bias of integers, and inputs that are none");
  const double scale =
      static_cast<double>(b.QuantizationOf(x)->scale) * static_cast<double>(b.QuantizationOf(weights)->scale);
  std::vector<double> numbers;
  for (const int64_t integer : constant->ToInts()) numbers.push_back(static_cast<double>(integer) * scale);
  return b.Constant(name.c_str(), MakeConstant(DType::kF32, constant->shape(), numbers));
}

ValueId Product(TfliteBuilder& b, const std::string& name, ValueId x, ValueId weights,
                ValueId bias = kNoValue) {
  return b.Emit(name.c_str(), OpCode::kFullyConnected,
                {b.Real((name + "_input").c_str(), x), b.Real((name + "_weights").c_str(), weights), bias},
                ClampAttrs{});
}

/// What the sequence adds to the gates of all steps, and the recurrent weights: gates are input, output,
/// forget and cell.
struct Gates {
  ValueId of_sequence, recurrence;
};
Gates EmitGates(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights) {
  constexpr size_t kOrder[] = {0, 3, 1, 2};
  std::vector<ValueId> input, recurrent, bias;
  for (const size_t gate : kOrder) {
    input.push_back(weights.input[gate]);
    recurrent.push_back(weights.recurrent[gate]);
    bias.push_back(RealBias(b, name + "_bias", weights.bias[gate], x, weights.input[gate]));
  }
  ValueId joined_bias = kNoValue;
  if (std::find(bias.begin(), bias.end(), kNoValue) == bias.end())
    joined_bias = b.Emit((name + "_biases").c_str(), OpCode::kConcat, bias, AxisAttrs{0});
  return {Product(b, name + "_gates", x, JoinedRows(b, name + "_weights", input), joined_bias),
          JoinedRows(b, name + "_recurrence", recurrent)};
}

LstmStates EmitPlain(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                     ValueId first_state, ValueId first_cell, bool reverse) {
  ValueId peepholes = kNoValue;
  if (weights.peephole[1] != kNoValue) {
    std::vector<ValueId> parts;
    for (const size_t gate : {0u, 2u, 1u})
      parts.push_back(b.Real((name + "_peephole").c_str(), weights.peephole[gate]));
    peepholes = b.Emit((name + "_peepholes").c_str(), OpCode::kConcat, parts, AxisAttrs{0});
  }
  const Gates gates = EmitGates(b, name, x, weights);
  RecurrentAttrs attrs;
  attrs.reverse = reverse;
  if (weights.cell_clip > 0) attrs.cell_clip = weights.cell_clip;
  const std::vector<ValueId> made = b.EmitAll(
      {name + "_states", name + "_last_state", name + "_last_cell"}, OpCode::kLstm,
      {gates.of_sequence, gates.recurrence, kNoValue, b.Real((name + "_first").c_str(), first_state),
       kNoValue, b.Real((name + "_first_cell").c_str(), first_cell), peepholes},
      attrs);
  return {made[0], made[1], made[2]};
}

int64_t Steps(TfliteBuilder& b, ValueId x, const char* why) {
  const std::optional<int64_t> steps = b.ExtentOf(x, 0);
  if (!steps || *steps > kMaxSteps)
    b.Unsupported("{}, which is unrolled: the number of steps must be known, and {} at most", why, kMaxSteps);
  return *steps;
}

ValueId StepOf(TfliteBuilder& b, const std::string& name, ValueId x, int64_t step) {
  return b.Emit((name + "_row").c_str(), OpCode::kSqueeze, {EmitSlice(b, name.c_str(), x, 0, step, step + 1)},
                AxesAttrs{{0}});
}

ValueId Clipped(TfliteBuilder& b, const std::string& name, ValueId x, float clip) {
  return clip > 0 ? b.Emit(name.c_str(), OpCode::kClamp, {x}, ClampAttrs{-clip, clip}) : x;
}

/// One step of one direction.
class Cell {
 public:
  Cell(TfliteBuilder& b, std::string name, const LstmWeights& weights, ValueId x, ValueId auxiliary,
       ValueId state, ValueId cell)
      : b_(b),
        name_(std::move(name)),
        weights_(weights),
        x_(x),
        auxiliary_(auxiliary),
        state_(state),
        cell_(cell) {}

  void Run() {
    const auto sigmoid = [&](const char* what, ValueId x) {
      return b_.Emit(Name(what).c_str(), OpCode::kSigmoid, {x});
    };
    const ValueId forget = sigmoid("forget", Gate(1, weights_.peephole[1], cell_));
    ValueId input;
    if (weights_.HasInputGate()) {
      input = sigmoid("input", Gate(0, weights_.peephole[0], cell_));
    } else {
      input = EmitSub(b_, Name("input").c_str(), b_.Scalar("one", DType::kF32, 1), forget);
    }
    const ValueId taken =
        b_.Activated(Name("taken").c_str(), Gate(2, kNoValue, kNoValue), weights_.activation);
    const ValueId kept = EmitMul(b_, Name("kept").c_str(), forget, cell_);
    const ValueId cell =
        EmitAdd(b_, Name("cell").c_str(), kept, EmitMul(b_, Name("new").c_str(), input, taken));
    cell_ = Clipped(b_, Name("clipped_cell"), cell, weights_.cell_clip);
    const ValueId output = sigmoid("output", Gate(3, weights_.peephole[2], cell_));
    state_ = EmitMul(b_, Name("state").c_str(), output,
                     b_.Activated(Name("shown").c_str(), cell_, weights_.activation));
    if (weights_.projection == kNoValue) return;
    state_ = Product(b_, Name("projected"), state_, weights_.projection,
                     weights_.projection_bias == kNoValue
                         ? kNoValue
                         : b_.Real(Name("projection_bias").c_str(), weights_.projection_bias));
    state_ = Clipped(b_, Name("clipped_state"), state_, weights_.projection_clip);
  }
  ValueId state() const { return state_; }
  ValueId cell() const { return cell_; }

 private:
  std::string Name(const char* what) const { return name_ + "_" + what; }
  /// What a gate's function is applied to.
  ValueId Gate(size_t gate, ValueId peephole, ValueId cell) {
    ValueId sum = EmitAdd(b_, Name("sum").c_str(), Product(b_, Name("product"), x_, weights_.input[gate]),
                          Product(b_, Name("recurrence"), state_, weights_.recurrent[gate]));
    if (weights_.auxiliary[gate] != kNoValue)
      sum = EmitAdd(b_, Name("with_auxiliary").c_str(), sum,
                    Product(b_, Name("auxiliary"), auxiliary_, weights_.auxiliary[gate]));
    if (peephole != kNoValue)
      sum = EmitAdd(
          b_, Name("with_peephole").c_str(), sum,
          EmitMul(b_, Name("peephole").c_str(), cell, b_.Real(Name("peephole_weights").c_str(), peephole)));
    const ValueId bias = RealBias(b_, Name("bias"), weights_.bias[gate], x_, weights_.input[gate]);
    if (weights_.normal[gate] != kNoValue) {
      std::vector<ValueId> inputs{sum, b_.Real(Name("normal_scale").c_str(), weights_.normal[gate])};
      if (bias != kNoValue) inputs.push_back(bias);
      return b_.Emit(Name("normal").c_str(), OpCode::kLayerNorm, inputs, NormAttrs{-1, 1e-8f});
    }
    return bias == kNoValue ? sum : EmitAdd(b_, Name("with_bias").c_str(), sum, bias);
  }

  TfliteBuilder& b_;
  std::string name_;
  const LstmWeights& weights_;
  ValueId x_, auxiliary_, state_, cell_;
};

/// The states of all steps, in the order of the steps.
ValueId Stacked(TfliteBuilder& b, const std::string& name, std::vector<ValueId> states, bool reverse) {
  if (reverse) std::reverse(states.begin(), states.end());
  for (ValueId& state : states) state = EmitUnsqueeze(b, (name + "_step").c_str(), state, {0});
  return states.size() == 1 ? states[0]
                            : b.Emit((name + "_states").c_str(), OpCode::kConcat, states, AxisAttrs{0});
}

/// A number as the variable that keeps it from step to step rounds it.
ValueId RoundedAs(TfliteBuilder& b, const std::string& name, ValueId value, ValueId variable) {
  if (!b.IsQuantized(variable)) return value;
  const ValueId codes = b.EmitQuantized((name + "_codes").c_str(), OpCode::kQuantize, {value},
                                        b.DTypeOf(variable), b.QuantizationOf(variable));
  return b.Real(name.c_str(), codes);
}

/// A plain LSTM whose states are integers: each step rounds them.
LstmStates EmitRounded(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                       ValueId first_state, ValueId first_cell, bool reverse, int64_t steps) {
  const Gates gates = EmitGates(b, name, x, weights);
  LstmStates made{kNoValue, b.Real((name + "_first").c_str(), first_state),
                  b.Real((name + "_first_cell").c_str(), first_cell)};
  std::vector<ValueId> states;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = reverse ? steps - 1 - i : i;
    const std::string step = fmt::format("{}_{}_", name, at);
    const auto named = [&](const char* what) { return step + what; };
    const auto apply = [&](const char* what, OpCode op, ValueId value) {
      return b.Emit(named(what).c_str(), op, {value});
    };
    const ValueId sum = EmitAdd(b, named("sum").c_str(), StepOf(b, named("gates"), gates.of_sequence, at),
                                Product(b, named("recurrence"), made.last_state, gates.recurrence));
    const std::vector<ValueId> parts =
        b.EmitAll({named("input_sum"), named("output_sum"), named("forget_sum"), named("cell_sum")},
                  OpCode::kSplit, {sum}, SplitAttrs{1, 4});
    const ValueId taken = EmitMul(b, named("taken").c_str(), apply("input", OpCode::kSigmoid, parts[0]),
                                  apply("candidate", OpCode::kTanh, parts[3]));
    const ValueId kept =
        EmitMul(b, named("kept").c_str(), apply("forget", OpCode::kSigmoid, parts[2]), made.last_cell);
    const ValueId cell =
        Clipped(b, named("clipped"), EmitAdd(b, named("new_cell").c_str(), kept, taken), weights.cell_clip);
    made.last_cell = RoundedAs(b, named("cell"), cell, first_cell);
    const ValueId state = EmitMul(b, named("new_state").c_str(), apply("output", OpCode::kSigmoid, parts[1]),
                                  apply("shown", OpCode::kTanh, made.last_cell));
    made.last_state = RoundedAs(b, named("state"), state, first_state);
    states.push_back(made.last_state);
  }
  made.states = Stacked(b, name, std::move(states), reverse);
  return made;
}

}  // namespace

LstmStates EmitLstm(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                    ValueId first_state, ValueId first_cell, bool reverse) {
  if (IsPlain(weights)) {
    const bool rounds = b.IsQuantized(first_state) || b.IsQuantized(first_cell);
    const int64_t known = b.ExtentOf(x, 0).value_or(0);
    if (rounds && known > 1 && known <= kMaxSteps && weights.peephole[1] == kNoValue)
      return EmitRounded(b, name, x, weights, first_state, first_cell, reverse, known);
    return EmitPlain(b, name, x, weights, first_state, first_cell, reverse);
  }
  LstmStates made{kNoValue, b.Real((name + "_first").c_str(), first_state),
                  b.Real((name + "_first_cell").c_str(), first_cell)};
  const int64_t steps = Steps(b, x, "is more than a plain LSTM");
  std::vector<ValueId> states;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = reverse ? steps - 1 - i : i;
    const std::string step = fmt::format("{}_{}", name, at);
    const ValueId auxiliary = weights.auxiliary_input == kNoValue
                                  ? kNoValue
                                  : StepOf(b, step + "_auxiliary", weights.auxiliary_input, at);
    Cell cell(b, step, weights, StepOf(b, step + "_input", x, at), auxiliary, made.last_state,
              made.last_cell);
    cell.Run();
    made.last_state = cell.state();
    made.last_cell = cell.cell();
    states.push_back(made.last_state);
  }
  made.states = Stacked(b, name, std::move(states), reverse);
  return made;
}

LstmStates EmitRnn(TfliteBuilder& b, const std::string& name, ValueId x, ValueId weights, ValueId recurrent,
                   ValueId bias, ValueId first_state, Activation activation, bool reverse) {
  const ValueId real_bias = RealBias(b, name + "_bias", bias, x, weights);
  const ValueId gates = Product(b, name + "_gates", x, weights, real_bias);
  const ValueId recurrence = b.Real((name + "_recurrence").c_str(), recurrent);
  const ValueId first = b.Real((name + "_first").c_str(), first_state);
  if (activation == Activation::TANH || activation == Activation::RELU) {
    RecurrentAttrs attrs;
    attrs.reverse = reverse;
    attrs.relu = activation == Activation::RELU;
    const std::vector<ValueId> made = b.EmitAll({name + "_states", name + "_last_state"}, OpCode::kRnn,
                                                {gates, recurrence, kNoValue, first}, attrs);
    return {made[0], made[1], kNoValue};
  }
  LstmStates made{kNoValue, first, kNoValue};
  const int64_t steps = Steps(b, x, "has another activation than TANH or RELU");
  std::vector<ValueId> states;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = reverse ? steps - 1 - i : i;
    const std::string step = fmt::format("{}_{}", name, at);
    const ValueId sum = EmitAdd(b, (step + "_sum").c_str(), StepOf(b, step + "_gates", gates, at),
                                Product(b, step + "_product", made.last_state, recurrence));
    made.last_state = b.Activated((step + "_state").c_str(), sum, activation);
    states.push_back(made.last_state);
  }
  made.states = Stacked(b, name, std::move(states), reverse);
  return made;
}

}  // namespace skiff
