// LSTM, GRU and RNN. What the sequence adds to the gates is one matrix product over all steps, outside of the
// recurrence; each direction is a node of its own.
#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// The activations of one direction that the Skiff operators have.
const std::vector<std::string>& DefaultActivations(OpCode op) {
  static const std::vector<std::string> kOfLstm = {"Sigmoid", "Tanh", "Tanh"};
  static const std::vector<std::string> kOfGru = {"Sigmoid", "Tanh"};
  static const std::vector<std::string> kOfRnn = {"Tanh"};
  return op == OpCode::kLstm ? kOfLstm : op == OpCode::kGru ? kOfGru : kOfRnn;
}

/// Those of one direction. Unsupported where they are others than the usual ones, or ReLU in an RNN.
bool UsesRelu(const OnnxBuilder& b, size_t direction) {
  const std::vector<std::string>& usual = DefaultActivations(b.op());
  const std::optional<std::vector<std::string>> stated = b.StringList("activations");
  if (!stated || stated->empty()) return false;
  const size_t first = direction * usual.size();
  if (stated->size() < first + usual.size())
    b.Invalid("attribute 'activations' has {} names; {} for each direction were expected", stated->size(),
              usual.size());
  const std::vector<std::string> names(stated->begin() + static_cast<int64_t>(first),
                                       stated->begin() + static_cast<int64_t>(first + usual.size()));
  if (names == usual) return false;
  if (b.op() == OpCode::kRnn && names.front() == "Relu") return true;
  OnnxBuilder::Unsupported(
      "has the activations {}; only {} are supported{}: write the recurrence as a Loop, or with its steps "
      "unrolled",
      fmt::join(names, ", "), fmt::join(usual, ", "), b.op() == OpCode::kRnn ? " (or Relu)" : "");
}

std::vector<bool> DirectionsOf(const OnnxBuilder& b) {
  const std::string direction = b.String("direction", "forward");
  if (direction == "forward") return {false};
  if (direction == "reverse") return {true};
  if (direction == "bidirectional") return {false, true};
  b.Invalid("attribute 'direction' is '{}'; forward, reverse or bidirectional was expected", direction);
}

/// One direction's part of an input, without the axis of directions; kNoValue where the node leaves it out.
ValueId PartOf(OnnxBuilder& b, const std::string& suffix, size_t input, int64_t axis, int64_t direction,
               size_t directions) {
  ValueId value = b.OptionalInput(input);
  if (value == kNoValue) return value;
  if (directions > 1)
    value = EmitSlice(b, (suffix + "_slice").c_str(), value, axis, direction, direction + 1);
  return b.Emit(suffix.c_str(), OpCode::kSqueeze, {value}, AxesAttrs{{axis}});
}

/// Rows of recurrent weights: of a direction, from W, R or the attribute.
int64_t GateRows(const OnnxBuilder& b) {
  for (const size_t input : {1u, 2u}) {
    const ValueId weights = b.Input(input);
    if (const auto rows = b.ExtentOf(weights, 1); rows && b.HasRank(weights, 3)) return *rows;
  }
  const int64_t hidden = b.RequiredInt("hidden_size");
  b.CheckRange("hidden_size", {hidden}, 1);
  return hidden * GatesOf(b.op());
}

/// Throws where what is known of the weights and biases contradicts the attribute, or each other.
void CheckSizes(const OnnxBuilder& b) {
  const int64_t gates = GatesOf(b.op());
  for (const size_t input : {1u, 2u}) {
    const ValueId weights = b.Input(input);
    if (!b.HasRank(weights, 3) || !b.HasAttribute("hidden_size")) continue;
    const std::optional<int64_t> rows = b.ExtentOf(weights, 1);
    const int64_t hidden = b.RequiredInt("hidden_size");
    if (rows && (*rows % gates != 0 || *rows / gates != hidden))
      b.Invalid("input {} has {} rows; {} for each of the {} of attribute 'hidden_size' were expected", input,
                *rows, gates, hidden);
  }
  if (!b.HasInput(3) || !b.HasRank(b.Input(3), 2)) return;
  const std::optional<int64_t> biases = b.ExtentOf(b.Input(3), 1);
  const int64_t rows = GateRows(b);
  if (biases && *biases != 2 * rows)
    b.Invalid("input 3 has {} biases; {} were expected, two for each row of the weights", *biases, 2 * rows);
}

/// Of all steps, [T, B, gates x H]: x W^T + Wb.
ValueId EmitGates(OnnxBuilder& b, const std::string& name, ValueId x, ValueId weights, ValueId biases) {
  MatMulAttrs product;
  product.transpose_b = true;
  const ValueId gates = b.Emit((name + "_product").c_str(), OpCode::kMatMul, {x, weights}, product);
  if (biases == kNoValue) return gates;
  const ValueId bias = EmitSlice(b, (name + "_bias").c_str(), biases, 0, 0, GateRows(b));
  return EmitAdd(b, (name + "_gates").c_str(), gates, bias);
}

/// The outputs of one direction.
std::vector<ValueId> EmitDirection(OnnxBuilder& b, ValueId x, size_t index, bool reverse, size_t directions,
                                   int64_t state_axis) {
  const std::string name = reverse ? "reverse" : "forward";
  const auto part = [&](const char* what, size_t input, int64_t axis) {
    return PartOf(b, name + "_" + what, input, axis, static_cast<int64_t>(index), directions);
  };
  RecurrentAttrs attrs;
  attrs.reverse = reverse;
  attrs.reset_after = b.op() == OpCode::kGru && b.Flag("linear_before_reset");
  attrs.relu = UsesRelu(b, index);
  const ValueId biases = part("biases", 3, 0);
  std::vector<ValueId> inputs = {EmitGates(b, name, x, part("weights", 1, 0), biases),
                                 part("recurrence", 2, 0)};
  inputs.push_back(biases == kNoValue ? kNoValue
                                      : EmitSlice(b, (name + "_recurrent_bias").c_str(), biases, 0,
                                                  GateRows(b), 2 * GateRows(b)));
  inputs.push_back(part("first_state", 5, state_axis));
  inputs.push_back(b.OptionalInput(4));
  std::vector<std::string> suffixes = {name + "_states", name + "_last_state"};
  if (b.op() == OpCode::kLstm) {
    inputs.push_back(part("first_cell", 6, state_axis));
    inputs.push_back(part("peepholes", 7, 0));
    suffixes.push_back(name + "_last_cell");
  }
  return b.EmitAll(suffixes, b.op(), std::move(inputs), attrs);
}

void BuildRecurrent(OnnxBuilder& b) {
  if (b.HasAttribute("clip"))
    OnnxBuilder::Unsupported("clips its gates (attribute 'clip'); export it without");
  if (b.Flag("input_forget"))
    OnnxBuilder::Unsupported("couples its input and forget gates (input_forget = 1)");
  CheckSizes(b);
  const bool batch_first = b.Flag("layout");
  const int64_t state_axis = batch_first ? 1 : 0;
  const ValueId x = batch_first ? EmitTranspose(b, "time_major", b.Input(0), {1, 0, 2}) : b.Input(0);
  const std::vector<bool> directions = DirectionsOf(b);
  std::vector<std::vector<ValueId>> results;
  for (size_t i = 0; i < directions.size(); ++i)
    results.push_back(EmitDirection(b, x, i, directions[i], directions.size(), state_axis));
  for (size_t output = 0; output < std::min(b.output_count(), results.front().size()); ++output) {
    if (!b.OutputUsed(output)) continue;
    // Y is [T, directions, B, H], or [B, T, directions, H]; the last states have no T.
    const bool states = output == 0;
    const int64_t axis = states ? (batch_first ? 2 : 1) : state_axis;
    std::vector<ValueId> parts;
    for (size_t i = 0; i < directions.size(); ++i) {
      const std::string name = fmt::format("output_{}_{}", output, i);
      ValueId value = results[i][output];
      if (states && batch_first) value = EmitTranspose(b, (name + "_batch_major").c_str(), value, {1, 0, 2});
      if (directions.size() > 1) value = EmitUnsqueeze(b, name.c_str(), value, {axis});
      parts.push_back(value);
    }
    if (parts.size() == 1) {
      b.Output(OpCode::kUnsqueeze, parts, AxesAttrs{{axis}}, output);
    } else {
      b.Output(OpCode::kConcat, parts, AxisAttrs{axis}, output);
    }
  }
}

constexpr OnnxOp kOps[] = {
    {"GRU", 7, kNewest, BuildRecurrent, OpCode::kGru},
    {"LSTM", 7, kNewest, BuildRecurrent, OpCode::kLstm},
    {"RNN", 7, kNewest, BuildRecurrent, OpCode::kRnn},
};

}  // namespace

std::span<const OnnxOp> OnnxRecurrentOps() { return kOps; }

}  // namespace skiff
