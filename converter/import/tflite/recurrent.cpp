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
                      constant->shape().rank() == 2 && constant->shape()[0] > 0 &&
                      (columns < 0 || constant->shape()[1] == columns);
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

bool IsOfIntegers(const TfliteBuilder& b, ValueId bias) {
  return bias != kNoValue && !IsFloat(b.DTypeOf(bias));
}

double ScaleOf(const TfliteBuilder& b, const QuantizationPtr& quantization) {
  if (!quantization || !quantization->per_tensor())
    b.Unsupported("has a bias of integers, and what it is added to has not one scale; convert the net again");
  return static_cast<double>(quantization->scale);
}

ValueId ScaledBias(TfliteBuilder& b, const std::string& name, ValueId bias, double scale) {
  const TensorData* constant = b.ConstantOf(bias);
  if (constant == nullptr) b.Unsupported("computes a bias of integers; only a constant is taken");
  std::vector<double> numbers;
  for (const int64_t integer : constant->ToInts()) numbers.push_back(static_cast<double>(integer) * scale);
  return b.Constant(name.c_str(), MakeConstant(DType::kF32, constant->shape(), numbers));
}

ValueId RealProduct(NodeBuilder& b, const std::string& name, ValueId x, ValueId weights,
                    ValueId bias = kNoValue) {
  return b.Emit(name.c_str(), OpCode::kFullyConnected, {x, weights, bias}, ClampAttrs{});
}

ValueId Product(TfliteBuilder& b, const std::string& name, ValueId x, ValueId weights,
                ValueId bias = kNoValue) {
  return RealProduct(b, name, b.Real((name + "_input").c_str(), x),
                     b.Real((name + "_weights").c_str(), weights), bias);
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

ValueId Clipped(NodeBuilder& b, const std::string& name, ValueId x, float clip) {
  return clip > 0 ? b.Emit(name.c_str(), OpCode::kClamp, {x}, ClampAttrs{-clip, clip}) : x;
}

/// One step of one direction.
class Cell {
 public:
  Cell(TfliteBuilder& b, std::string name, const LstmWeights& weights, ValueId x, ValueId auxiliary,
       const LstmStates& before)
      : b_(b),
        name_(std::move(name)),
        weights_(weights),
        x_(x),
        auxiliary_(auxiliary),
        state_(before.last_state),
        cell_(before.last_cell) {}

  /// The states become those behind the step, as their variables keep them.
  void Run(const DeclaredType& of_state, const DeclaredType& of_cell) {
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
    cell_ = RoundedAs(b_, Name("kept_cell"), Clipped(b_, Name("clipped_cell"), cell, weights_.cell_clip),
                      of_cell);
    const ValueId output = sigmoid("output", Gate(3, weights_.peephole[2], cell_));
    state_ = EmitMul(b_, Name("state").c_str(), output,
                     b_.Activated(Name("shown").c_str(), cell_, weights_.activation));
    if (weights_.projection != kNoValue) Project();
    state_ = RoundedAs(b_, Name("kept_state"), state_, of_state);
  }
  ValueId state() const { return state_; }
  ValueId cell() const { return cell_; }

 private:
  std::string Name(const char* what) const { return name_ + "_" + what; }
  void Project() {
    const DeclaredType& hidden = weights_.rounded_hidden;
    ValueId bias = weights_.projection_bias;
    if (IsOfIntegers(b_, bias))
      bias =
          ScaledBias(b_, Name("projection_bias"), bias,
                     ScaleOf(b_, hidden.quantization) * ScaleOf(b_, b_.QuantizationOf(weights_.projection)));
    state_ = Product(b_, Name("projected"), RoundedAs(b_, Name("hidden"), state_, hidden),
                     weights_.projection, bias);
    state_ = Clipped(b_, Name("clipped_state"), state_, weights_.projection_clip);
  }
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
    if (weights_.normal[gate] != kNoValue) return Normalized(gate, sum);
    const ValueId bias = RealBias(b_, Name("bias"), weights_.bias[gate], x_, weights_.input[gate]);
    return bias == kNoValue ? sum : EmitAdd(b_, Name("with_bias").c_str(), sum, bias);
  }
  /// Integers have 10 bits behind the point where they are normalised, and the bias is added to their
  /// products.
  ValueId Normalized(size_t gate, ValueId sum) {
    const ValueId scale = weights_.normal[gate];
    ValueId bias = weights_.bias[gate];
    if (IsOfIntegers(b_, bias))
      bias = ScaledBias(b_, Name("bias"), bias, ScaleOf(b_, b_.QuantizationOf(scale)) * 0x1p-10);
    std::vector<ValueId> inputs{RoundedAs(b_, Name("rounded_sum"), sum, weights_.rounded_sums[gate]),
                                b_.Real(Name("normal_scale").c_str(), scale)};
    if (bias != kNoValue) inputs.push_back(bias);
    return b_.Emit(Name("normal").c_str(), OpCode::kLayerNorm, inputs, NormAttrs{-1, 1e-8f});
  }

  TfliteBuilder& b_;
  std::string name_;
  const LstmWeights& weights_;
  ValueId x_, auxiliary_, state_, cell_;
};

/// The states of all steps, in the order of the steps. `last`: behind them, where there may be none.
ValueId Stacked(TfliteBuilder& b, const std::string& name, std::vector<ValueId> states, ValueId last,
                bool reverse) {
  const auto row = [&](ValueId state) { return EmitUnsqueeze(b, (name + "_step").c_str(), state, {0}); };
  if (states.empty()) return EmitSlice(b, (name + "_states").c_str(), row(last), 0, 0, 0);
  if (reverse) std::reverse(states.begin(), states.end());
  for (ValueId& state : states) state = row(state);
  return states.size() == 1 ? states[0]
                            : b.Emit((name + "_states").c_str(), OpCode::kConcat, states, AxisAttrs{0});
}

/// What all steps of a plain LSTM of integers have in common.
struct RoundedStep {
  DeclaredType of_state, of_cell;
  float cell_clip = 0;

  /// The state and the cell behind one step, of the gates' part of the input [B, 4 * H].
  LstmStates Emit(NodeBuilder& b, const std::string& step, ValueId gates, ValueId recurrence, ValueId state,
                  ValueId cell) const {
    const auto named = [&](const char* what) { return step + what; };
    const auto apply = [&](const char* what, OpCode op, ValueId value) {
      return b.Emit(named(what).c_str(), op, {value});
    };
    const ValueId sum =
        EmitAdd(b, named("sum").c_str(), gates, RealProduct(b, named("recurrence"), state, recurrence));
    const std::vector<ValueId> parts =
        b.EmitAll({named("input_sum"), named("output_sum"), named("forget_sum"), named("cell_sum")},
                  OpCode::kSplit, {sum}, SplitAttrs{1, 4});
    const ValueId taken = EmitMul(b, named("taken").c_str(), apply("input", OpCode::kSigmoid, parts[0]),
                                  apply("candidate", OpCode::kTanh, parts[3]));
    const ValueId kept = EmitMul(b, named("kept").c_str(), apply("forget", OpCode::kSigmoid, parts[2]), cell);
    const ValueId sum_of_cell = EmitAdd(b, named("new_cell").c_str(), kept, taken);
    LstmStates made;
    made.last_cell =
        RoundedAs(b, named("cell"), Clipped(b, named("clipped"), sum_of_cell, cell_clip), of_cell);
    const ValueId shown = EmitMul(b, named("new_state").c_str(), apply("output", OpCode::kSigmoid, parts[1]),
                                  apply("shown", OpCode::kTanh, made.last_cell));
    made.last_state = RoundedAs(b, named("state"), shown, of_state);
    return made;
  }
};

/// The steps of a sequence whose length is open, or large.
class RoundedLoop {
 public:
  RoundedLoop(TfliteBuilder& b, std::string name, const RoundedStep& step, bool reverse)
      : b_(b), name_(std::move(name)), step_(step), reverse_(reverse) {}

  LstmStates Run(const Gates& gates, const LstmStates& first) {
    const ValueId limit = EmitExtent(b_, (name_ + "_limit").c_str(), gates.of_sequence, 0);
    const ValueId shape = b_.Emit((name_ + "_room_shape").c_str(), OpCode::kConcat,
                                  {EmitExtents(b_, (name_ + "_steps").c_str(), gates.of_sequence, 0, 2),
                                   EmitExtents(b_, (name_ + "_units").c_str(), gates.recurrence, 1, 2)},
                                  AxisAttrs{0});
    const ValueId room = b_.Emit((name_ + "_room").c_str(), OpCode::kExpand,
                                 {b_.Scalar((name_ + "_nothing").c_str(), DType::kF32, 0), shape});
    const std::vector<ValueId> variables{b_.Scalar((name_ + "_at").c_str(), DType::kI64, 0), first.last_state,
                                         first.last_cell, room};
    std::vector<ValueId> inputs = variables;
    inputs.insert(inputs.end(), {gates.of_sequence, gates.recurrence, limit});
    std::vector<NodeBuilder::PartialType> types;
    for (const ValueId variable : variables) types.push_back(b_.TypeOf(variable));
    std::vector<Graph> bodies;
    bodies.push_back(Condition(inputs));
    bodies.push_back(Iteration(inputs));
    const std::vector<int> places(variables.size(), -1);
    const std::vector<ValueId> made =
        b_.OutputBodies(OpCode::kWhile, inputs, std::move(bodies), types, places);
    return {made[kStates], made[kState], made[kCell]};
  }

 private:
  /// Inputs of the loop and of its bodies; the last three are no variables.
  enum LoopInput : size_t { kAt, kState, kCell, kStates, kGates, kRecurrence, kLimit };

  Graph Condition(const std::vector<ValueId>& inputs) {
    Graph body = b_.NewBody(inputs);
    NodeBuilder::UntypedReasons untyped;
    NodeBuilder in = b_.In(body, untyped);
    body.AddOutput("continue", in.Emit("continue", OpCode::kLess,
                                       {body.inputs()[kAt].value, body.inputs()[kLimit].value}));
    return body;
  }

  Graph Iteration(const std::vector<ValueId>& inputs) {
    Graph body = b_.NewBody(inputs);
    NodeBuilder::UntypedReasons untyped;
    NodeBuilder in = b_.In(body, untyped);
    const auto input = [&](LoopInput i) { return body.inputs()[i].value; };
    const ValueId next = EmitAdd(in, "next", input(kAt), in.Scalar("one", DType::kI64, 1));
    const ValueId place = reverse_ ? EmitSub(in, "place", input(kLimit), next) : input(kAt);
    const ValueId row = in.Emit("row", OpCode::kGather, {input(kGates), place}, AxisAttrs{0});
    const LstmStates made = step_.Emit(in, "", row, input(kRecurrence), input(kState), input(kCell));
    const ValueId states = in.Emit("next_states", OpCode::kScatterND,
                                   {input(kStates), EmitReshape(in, "index", place, {1, 1}),
                                    EmitUnsqueeze(in, "of_step", made.last_state, {0})},
                                   ScatterAttrs{});
    const std::pair<const char*, ValueId> outputs[] = {{"next_at", next},
                                                       {"next_state", made.last_state},
                                                       {"next_cell", made.last_cell},
                                                       {"next_states", states}};
    for (const auto& [name, value] : outputs) body.AddOutput(name, value);
    return body;
  }

  TfliteBuilder& b_;
  std::string name_;
  const RoundedStep& step_;
  bool reverse_;
};

/// A plain LSTM whose states are integers: each step rounds them.
LstmStates EmitRounded(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                       const RoundedStep& step, LstmStates made, bool reverse) {
  const Gates gates = EmitGates(b, name, x, weights);
  const int64_t steps = b.ExtentOf(x, 0).value_or(0);
  if (steps < 1 || steps > kMaxSteps) return RoundedLoop(b, name, step, reverse).Run(gates, made);
  std::vector<ValueId> states;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = reverse ? steps - 1 - i : i;
    const std::string prefix = fmt::format("{}_{}_", name, at);
    made = step.Emit(b, prefix, StepOf(b, prefix + "gates", gates.of_sequence, at), gates.recurrence,
                     made.last_state, made.last_cell);
    states.push_back(made.last_state);
  }
  made.states = Stacked(b, name, std::move(states), made.last_state, reverse);
  return made;
}

}  // namespace

ValueId RealBias(TfliteBuilder& b, const std::string& name, ValueId bias, ValueId x, ValueId weights) {
  if (!IsOfIntegers(b, bias)) return bias;
  return ScaledBias(b, name, bias, ScaleOf(b, b.QuantizationOf(x)) * ScaleOf(b, b.QuantizationOf(weights)));
}

ValueId RoundedAs(NodeBuilder& b, const std::string& name, ValueId value, const DeclaredType& variable) {
  if (!variable.quantization) return value;
  const ValueId codes = b.EmitQuantized((name + "_codes").c_str(), OpCode::kQuantize, {value}, variable.dtype,
                                        variable.quantization);
  return b.Emit(name.c_str(), OpCode::kDequantize, {codes});
}

DeclaredType KindOf(const TfliteBuilder& b, ValueId variable) {
  return b.IsQuantized(variable) ? DeclaredType{b.DTypeOf(variable), b.QuantizationOf(variable)}
                                 : DeclaredType{};
}

LstmStates EmitLstm(TfliteBuilder& b, const std::string& name, ValueId x, const LstmWeights& weights,
                    ValueId first_state, ValueId first_cell, bool reverse) {
  const RoundedStep step{KindOf(b, first_state), KindOf(b, first_cell), weights.cell_clip};
  const bool rounds = step.of_state.quantization || step.of_cell.quantization;
  if (IsPlain(weights) && !rounds) return EmitPlain(b, name, x, weights, first_state, first_cell, reverse);
  LstmStates made{kNoValue, b.Real((name + "_first").c_str(), first_state),
                  b.Real((name + "_first_cell").c_str(), first_cell)};
  if (IsPlain(weights) && weights.peephole[1] == kNoValue)
    return EmitRounded(b, name, x, weights, step, made, reverse);
  const int64_t steps = Steps(
      b, x, rounds ? "rounds more than a plain LSTM's states to integers" : "is more than a plain LSTM");
  std::vector<ValueId> states;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = reverse ? steps - 1 - i : i;
    const std::string prefix = fmt::format("{}_{}", name, at);
    const ValueId auxiliary = weights.auxiliary_input == kNoValue
                                  ? kNoValue
                                  : StepOf(b, prefix + "_auxiliary", weights.auxiliary_input, at);
    Cell cell(b, prefix, weights, StepOf(b, prefix + "_input", x, at), auxiliary, made);
    cell.Run(step.of_state, step.of_cell);
    made.last_state = cell.state();
    made.last_cell = cell.cell();
    states.push_back(made.last_state);
  }
  made.states = Stacked(b, name, std::move(states), made.last_state, reverse);
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
  made.states = Stacked(b, name, std::move(states), made.last_state, reverse);
  return made;
}

}  // namespace skiff
