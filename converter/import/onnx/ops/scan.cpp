// Scan: a loop over slices of its inputs. What runs backwards is turned round before or behind the loop.
#include <algorithm>
#include <limits>
#include <optional>

#include "import/emit.h"
#include "import/loop_types.h"
#include "import/onnx/nested.h"
#include "import/onnx/ops/collect.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// An attribute with a number for each of `count` things, or none.
std::vector<int64_t> NumberOfEach(const OnnxBuilder& b, const char* name, size_t count) {
  std::vector<int64_t> numbers = b.IntList(name).value_or(std::vector<int64_t>(count, 0));
  if (numbers.size() != count)
    b.Invalid("attribute '{}' has {} numbers, {} were expected", name, numbers.size(), count);
  return numbers;
}

ValueId TurnedRound(OnnxBuilder& b, const std::string& suffix, ValueId x, int64_t axis) {
  return EmitSlice(b, suffix.c_str(), x, axis, -1, std::numeric_limits<int64_t>::min(), -1);
}

/// An input that is gone through, and along which axis.
struct Scanned {
  ValueId whole = kNoValue;
  int axis = 0;
  OnnxBuilder::PartialType type;
};

std::vector<Scanned> ScannedInputs(OnnxBuilder& b, size_t states, size_t count) {
  const std::vector<int64_t> axes = NumberOfEach(b, "scan_input_axes", count);
  const std::vector<int64_t> directions = NumberOfEach(b, "scan_input_directions", count);
  std::vector<Scanned> scanned;
  for (size_t i = 0; i < count; ++i) {
    ValueId x = b.Input(states + i);
    const int axis = AxisOf(b, "scan_input_axes", axes[i], b.RankOf(x));
    if (directions[i] != 0) x = TurnedRound(b, fmt::format("turned_{}", i), x, axis);
    scanned.push_back({x, axis, b.TypeOf(x)});
    const std::optional<int64_t> steps = b.ExtentOf(scanned[0].whole, scanned[0].axis);
    const std::optional<int64_t> here = b.ExtentOf(x, axis);
    if (steps && here && *steps != *here)
      b.Invalid("scans {} steps of input {} and {} of input {}", *steps, states, *here, states + i);
    scanned[i].whole =
        EmitSameExtent(b, fmt::format("steps_{}", i).c_str(), x, axis, scanned[0].whole, scanned[0].axis);
  }
  return scanned;
}

/// In the body: its slices are taken from the wholes, which become inputs.
class BodyOfScan {
 public:
  BodyOfScan(size_t states, const std::vector<Scanned>& scanned, Collected& collected)
      : states_(states), scanned_(scanned), collected_(collected) {}

  void Finish(Graph& graph, std::vector<ValueId> results) {
    for (const GraphPort& port : graph.inputs()) ports_.push_back(port.value);
    iteration_ = graph.AddInput("iteration", DType::kI64, {});
    graph.value(iteration_).source.clear();
    for (size_t i = 0; i < scanned_.size(); ++i) {
      const ValueId slice = ports_[states_ + i];
      const Scanned& from = scanned_[i];
      const ValueId whole =
          graph.AddInput("whole", from.type.dtype, from.type.dims.value_or(std::vector<Dim>{}));
      graph.value(whole).source.clear();
      const ValueId taken = graph.Emit(OpCode::kGather, {whole, iteration_}, AxisAttrs{from.axis});
      // Its type is that of the slice, so that what is collected has one.
      graph.value(taken).dtype = graph.value(slice).dtype;
      graph.value(taken).has_shape = graph.value(slice).has_shape;
      graph.value(taken).dims = graph.value(slice).dims;
      graph.ReplaceUses(slice, taken);
      std::replace(results.begin(), results.end(), slice, taken);
      wholes_.push_back(whole);
    }
    for (size_t i = scanned_.size(); i-- > 0;) graph.RemoveInput(states_ + i);
    const ValueId one = graph.AddConstant("one", MakeConstant(DType::kI64, Shape{}, {1}));
    graph.AddOutput("iteration", graph.Emit(OpCode::kAdd, {iteration_, one}, ClampAttrs()));
    for (size_t i = 0; i < states_; ++i) graph.AddOutput(graph.value(results[i]).name, results[i]);
    const auto row = results.begin() + static_cast<std::ptrdiff_t>(states_);
    collected_.AddToBody(graph, iteration_, {row, results.end()}, {results.begin(), row}, 0);
  }

  /// iteration, states..., collected..., captured..., wholes...
  void OrderInputs(Graph& graph) const {
    std::vector<ValueId> order{iteration_};
    const auto add = [&](size_t begin, size_t end, const std::vector<ValueId>& from) {
      order.insert(order.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
                   from.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<ValueId> now;
    for (const GraphPort& port : graph.inputs()) now.push_back(port.value);
    add(0, states_, ports_);
    add(now.size() - collected_.count(), now.size(), now);
    add(states_ + scanned_.size(), ports_.size(), ports_);
    add(0, wholes_.size(), wholes_);
    graph.OrderInputs(order);
  }

 private:
  const size_t states_;
  const std::vector<Scanned>& scanned_;
  Collected& collected_;
  ValueId iteration_ = kNoValue;
  std::vector<ValueId> ports_;  ///< The sub-graph's own: states, slices, captured.
  std::vector<ValueId> wholes_;
};

/// A collected output as the node's attributes want it.
void OutputRows(OnnxBuilder& b, size_t i, ValueId rows, int64_t axis, bool backwards) {
  const std::string suffix = fmt::format("rows_{}", i);
  if (backwards) rows = TurnedRound(b, suffix + "_turned", rows, 0);
  const int rank = b.RankOf(rows);
  const int to = AxisOf(b, "scan_output_axes", axis, rank);
  TransposeAttrs attrs;
  for (int from = 0; from < rank; ++from) attrs.perm[attrs.perm.size++] = from < to ? from + 1 : from;
  attrs.perm[to] = 0;
  b.Output(OpCode::kTranspose, {rows}, attrs, i);
}

void BuildScan(OnnxBuilder& b) {
  const int64_t wanted = b.RequiredInt("num_scan_inputs");
  if (wanted < 1 || wanted > static_cast<int64_t>(b.input_count()))
    b.Invalid("attribute 'num_scan_inputs' is {}, the node has {} inputs", wanted, b.input_count());
  const auto count = static_cast<size_t>(wanted);
  const size_t states = b.input_count() - count;
  const std::vector<Scanned> scanned = ScannedInputs(b, states, count);
  const ValueId limit = EmitExtent(b, "steps", scanned[0].whole, scanned[0].axis);
  std::vector<ValueId> first;
  for (size_t i = 0; i < states; ++i) first.push_back(b.Input(i));
  std::vector<ValueId> slices;
  for (size_t i = 0; i < count; ++i)
    slices.push_back(Pick(b, fmt::format("slice_{}", i).c_str(), scanned[i].whole, scanned[i].axis, 0));
  if (b.output_count() < states) b.Invalid("the node has {} outputs and {} states", b.output_count(), states);
  const size_t rows = b.output_count() - states;
  LoopTypes types_of_states(b, first);
  std::vector<ValueId> ports;
  Collected collected;
  Graph body;
  do {
    ports = types_of_states.values();
    ports.insert(ports.end(), slices.begin(), slices.end());
    collected = Collected();
    BodyOfScan parts(states, scanned, collected);
    body = b.ImportBody("body", ports, [&](Graph& graph, const std::vector<ValueId>& results) {
      if (results.size() != b.output_count())
        b.Invalid("the body returns {} values, the node {}", results.size(), b.output_count());
      for (const ValueId result : results) b.CheckTensor(result, "the body");
      parts.Finish(graph, results);
    });
    parts.OrderInputs(body);
  } while (types_of_states.Widen(body, 1));
  std::vector<ValueId> variables{b.Scalar("iteration", DType::kI64, 0)};
  variables.insert(variables.end(), types_of_states.values().begin(), types_of_states.values().end());
  std::vector<ValueId> around = ports;
  around.insert(around.end(), b.captured().begin(), b.captured().end());
  const std::vector<ValueId> room = collected.EmitRoom(b, limit, around);
  variables.insert(variables.end(), room.begin(), room.end());
  std::vector<OnnxBuilder::PartialType> types;
  for (const ValueId variable : variables) types.push_back(b.TypeOf(variable));
  std::vector<ValueId> inputs = variables;
  inputs.insert(inputs.end(), b.captured().begin(), b.captured().end());
  for (const Scanned& from : scanned) inputs.push_back(from.whole);
  inputs.push_back(limit);
  const ValueId unused = body.AddInput("limit", DType::kI64, {});
  body.value(unused).source.clear();
  std::vector<Graph> bodies;
  bodies.push_back(GoesOn(body, false));
  bodies.push_back(std::move(body));
  std::vector<int> places(types.size(), -1);
  for (size_t i = 0; i < states; ++i) places[i + 1] = static_cast<int>(i);
  const std::vector<ValueId> results =
      b.OutputBodies(OpCode::kWhile, std::move(inputs), std::move(bodies), types, places);
  const std::vector<int64_t> axes = NumberOfEach(b, "scan_output_axes", rows);
  const std::vector<int64_t> directions = NumberOfEach(b, "scan_output_directions", rows);
  for (size_t i = 0; i < rows; ++i)
    OutputRows(b, states + i, results[1 + states + i], axes[i], directions[i] != 0);
}

/// How far each sample of a batch goes; empty: all go to the end.
std::vector<int64_t> LengthsOfBatch(const OnnxBuilder& b, int64_t batch, std::optional<int64_t> steps) {
  if (!b.HasInput(0)) return {};
  std::vector<int64_t> lengths = b.ConstantInts(0, "lengths");
  if (static_cast<int64_t>(lengths.size()) != batch)
    b.Invalid("input 0 has {} lengths for a batch of {}", lengths.size(), batch);
  if (!steps)
    OnnxBuilder::Unsupported(
        "has lengths of its own for each sample, and steps of which only the run knows "
        "how many there are; fix that size (--dim, --shape)");
  for (const int64_t length : lengths) {
    if (length < 0 || length > *steps) b.Invalid("input 0 holds {}; 0 to {} was expected", length, *steps);
  }
  return lengths;
}

/// Of opset 8: each sample of a batch is a Scan of its own.
void BuildBatchedScan(OnnxBuilder& b) {
  const int64_t wanted = b.RequiredInt("num_scan_inputs");
  if (wanted < 1 || wanted >= static_cast<int64_t>(b.input_count()))
    b.Invalid("attribute 'num_scan_inputs' is {}, the node has {} inputs", wanted, b.input_count());
  const size_t states = b.input_count() - 1 - static_cast<size_t>(wanted);
  if (b.output_count() < states) b.Invalid("the node has {} outputs and {} states", b.output_count(), states);
  const ValueId first = b.Input(1 + states);
  if (b.RankOf(first) < 2)
    b.Invalid("input {} has rank {}; 2 or more was expected", 1 + states, b.RankOf(first));
  const std::optional<int64_t> batch = b.ExtentOf(first, 0);
  const std::optional<int64_t> steps = b.ExtentOf(first, 1);
  if (!batch || *batch < 1 || *batch > kMostUnrolled)
    OnnxBuilder::Unsupported(
        "of opset 8 goes through a batch, which must be known and at most {}; fix it (--dim, "
        "--shape), or export with opset 9 or newer",
        kMostUnrolled);
  const std::vector<int64_t> lengths = LengthsOfBatch(b, *batch, steps);
  OnnxAttributes attributes;
  for (const onnx::AttributeProto& attribute : b.node().attribute()) {
    attributes.push_back(attribute);
    if (attribute.name() == "directions") attributes.back().set_name("scan_input_directions");
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < b.output_count(); ++i) names.push_back(fmt::format("sample_{}", i));
  std::vector<std::vector<ValueId>> outputs(b.output_count());
  for (int64_t sample = 0; sample < *batch; ++sample) {
    const int64_t length = lengths.empty() ? 0 : lengths[static_cast<size_t>(sample)];
    std::vector<ValueId> inputs;
    for (size_t i = 1; i < b.input_count(); ++i) {
      ValueId x = Pick(b, "of_sample", b.Input(i), 0, sample);
      if (i > states && !lengths.empty()) x = EmitSlice(b, "used", x, 0, 0, length);
      inputs.push_back(x);
    }
    const std::vector<ValueId> results = EmitAllOnnx(b, names, "Scan", 9, std::move(inputs), attributes);
    for (size_t i = 0; i < results.size(); ++i) {
      ValueId result = results[i];
      if (i >= states && !lengths.empty()) result = PadAxis(b, "padded", result, 0, 0, *steps - length);
      outputs[i].push_back(EmitUnsqueeze(b, "row", result, Ints{0}));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    b.Output(OpCode::kConcat, std::move(outputs[i]), AxisAttrs{0}, i);
}

constexpr OnnxOp kOps[] = {{"Scan", 8, 8, BuildBatchedScan, OpCode::kWhile},
                           {"Scan", 9, kNewestOnnxOpset, BuildScan, OpCode::kWhile}};

}  // namespace

std::span<const OnnxOp> OnnxScanOps() { return kOps; }

}  // namespace skiff
