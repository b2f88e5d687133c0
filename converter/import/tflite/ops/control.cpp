// TensorFlow Lite rows: IF, CASE, WHILE, what runs a subgraph in its place, and variables.
#include <algorithm>
#include <numeric>
#include <span>

#include "import/loop_types.h"
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

std::vector<ValueId> InputsFrom(const TfliteBuilder& b, size_t first) {
  std::vector<ValueId> inputs;
  for (size_t i = first; i < b.input_count(); ++i) inputs.push_back(b.Input(i));
  return inputs;
}

/// What is known of the results of one of two branches.
std::vector<NodeBuilder::PartialType> CommonTypes(TfliteBuilder& b, const std::vector<Graph>& branches) {
  for (const Graph& branch : branches) {
    if (branch.outputs().size() != b.output_count())
      b.Invalid("a branch returns {} values, the operator {}", branch.outputs().size(), b.output_count());
  }
  std::vector<NodeBuilder::PartialType> types;
  for (size_t i = 0; i < b.output_count(); ++i)
    types.push_back(b.Common(NodeBuilder::TypeOf(branches[0], branches[0].outputs()[i].value),
                             NodeBuilder::TypeOf(branches[1], branches[1].outputs()[i].value)));
  return types;
}

std::vector<int> AllPlaces(const TfliteBuilder& b) {
  std::vector<int> places(b.output_count());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// Where the condition is known, the other branch need not even be valid.
void BuildIf(TfliteBuilder& b) {
  const auto options = b.Options<tflite::IfOptions>();
  const std::vector<ValueId> passed = InputsFrom(b, 1);
  const std::optional<TensorData> known = b.KnownValueOf(b.Input(0));
  const bool decided = known && known->dtype() == DType::kBool && known->elements() == 1;
  const bool chosen = decided && *known->as<uint8_t>() != 0;
  const int32_t first = decided && !chosen ? options.else_subgraph : options.then_subgraph;
  const std::vector<bool> same(passed.size(), true);
  std::vector<Graph> bodies;
  bodies.push_back(b.source().import_body(first, passed, same, false));
  bodies.push_back(decided ? bodies[0] : b.source().import_body(options.else_subgraph, passed, same, false));
  const std::vector<NodeBuilder::PartialType> types = CommonTypes(b, bodies);
  std::vector<ValueId> inputs{b.Input(0)};
  inputs.insert(inputs.end(), passed.begin(), passed.end());
  b.OutputBodies(OpCode::kIf, std::move(inputs), std::move(bodies), types, AllPlaces(b));
}

void OutputHere(TfliteBuilder& b, int32_t subgraph, const std::vector<ValueId>& inputs) {
  const std::vector<ValueId> results = b.source().import_here(subgraph, inputs);
  if (results.size() != b.output_count())
    b.Invalid("its subgraph returns {} values, the operator {}", results.size(), b.output_count());
  for (size_t i = 0; i < results.size(); ++i) b.Output(OpCode::kIdentity, {results[i]}, NoAttrs{}, i);
}

/// The name of a composite is that of an operator which the subgraph does without.
void BuildComposite(TfliteBuilder& b) {
  const auto options = b.StablehloOptions<tflite::StableHLOCompositeOptions>();
  OutputHere(b, options.decomposition_subgraph, InputsFrom(b, 0));
}

/// Branches of a CASE, and the index of the first.
struct Branches {
  std::span<const int32_t> subgraphs;
  int64_t first = 0;
};

/// An If of two halves of the branches. The last one of what they get is the index.
struct Halves {
  int64_t middle = 0;
  std::vector<Graph> bodies;
  std::vector<NodeBuilder::PartialType> types;

  std::vector<ValueId> Emit(NodeBuilder& b, std::vector<ValueId> inputs, const std::vector<int>& places) {
    const ValueId limit = b.Scalar("middle", DType::kI64, static_cast<double>(middle));
    const ValueId in_front = b.Emit("in_front", OpCode::kLess, {inputs.back(), limit});
    inputs.insert(inputs.begin(), in_front);
    return b.OutputBodies(OpCode::kIf, std::move(inputs), std::move(bodies), types, places);
  }
};

Halves HalvesOf(TfliteBuilder& b, const Branches& branches, const std::vector<ValueId>& inputs);

Graph BodyOf(TfliteBuilder& b, const Branches& branches, const std::vector<ValueId>& inputs) {
  if (branches.subgraphs.size() == 1) {
    const std::vector<ValueId> passed(inputs.begin(), inputs.end() - 1);
    const std::vector<bool> same(passed.size(), true);
    Graph body = b.source().import_body(branches.subgraphs[0], passed, same, false);
    body.AddInput("index", DType::kI64, {});
    return body;
  }
  Halves halves = HalvesOf(b, branches, inputs);
  Graph body = b.NewBody(inputs);
  NodeBuilder::UntypedReasons untyped;
  NodeBuilder inner = b.In(body, untyped);
  std::vector<ValueId> ports;
  for (const GraphPort& port : body.inputs()) ports.push_back(port.value);
  const std::vector<int> nowhere(halves.types.size(), -1);
  for (const ValueId result : halves.Emit(inner, std::move(ports), nowhere))
    body.AddOutput(body.value(result).name, result);
  return body;
}

Halves HalvesOf(TfliteBuilder& b, const Branches& branches, const std::vector<ValueId>& inputs) {
  const size_t half = branches.subgraphs.size() / 2;
  Halves halves;
  halves.middle = branches.first + static_cast<int64_t>(half);
  halves.bodies.push_back(BodyOf(b, {branches.subgraphs.first(half), branches.first}, inputs));
  halves.bodies.push_back(BodyOf(b, {branches.subgraphs.subspan(half), halves.middle}, inputs));
  halves.types = CommonTypes(b, halves.bodies);
  return halves;
}

/// An index that is none of a branch stands for the last one.
void BuildCase(TfliteBuilder& b) {
  const std::vector<int32_t> subgraphs = b.StablehloOptions<tflite::StablehloCaseOptions>().branch_subgraphs;
  if (subgraphs.empty()) b.Invalid("it has no branches");
  const auto last = static_cast<int64_t>(subgraphs.size()) - 1;
  std::vector<ValueId> inputs = InputsFrom(b, 1);
  const ValueId stated = b.IntegerScalar("stated", b.Input(0));
  const std::optional<TensorData> known = b.KnownValueOf(stated);
  if (known || last == 0) {
    const int64_t index = known ? known->ToInts()[0] : last;
    return OutputHere(b, subgraphs[static_cast<size_t>(index < 0 ? last : std::min(index, last))], inputs);
  }
  const ValueId negative = b.Emit("negative", OpCode::kLess, {stated, b.Scalar("zero", DType::kI64, 0)});
  const ValueId default_index = b.Scalar("last", DType::kI64, static_cast<double>(last));
  inputs.push_back(b.Emit("index", OpCode::kWhere, {negative, default_index, stated}));
  HalvesOf(b, {subgraphs, 0}, inputs).Emit(b, inputs, AllPlaces(b));
}

/// Variables that the body hands on as they are stay outside of the loop's: they come last, the same in every
/// iteration.
void BuildWhile(TfliteBuilder& b) {
  const auto options = b.Options<tflite::WhileOptions>();
  const std::vector<bool> same = b.source().passed_through(options.body_subgraph);
  if (same.size() != b.input_count() || b.output_count() != b.input_count())
    b.Invalid("it has {} inputs and {} outputs, its body {}", b.input_count(), b.output_count(), same.size());
  std::vector<ValueId> passed = InputsFrom(b, 0);
  std::vector<size_t> order;
  std::vector<ValueId> first;
  for (size_t i = 0; i < passed.size(); ++i) {
    if (same[i]) continue;
    order.push_back(i);
    first.push_back(passed[i]);
  }
  const size_t variables = order.size();
  LoopTypes loop(b, first);
  for (size_t i = 0; i < passed.size(); ++i) {
    if (!same[i]) continue;
    order.push_back(i);
    b.Output(OpCode::kIdentity, {passed[i]}, NoAttrs{}, i);
  }
  if (variables == 0) return;  // No iteration changes anything: all outputs are made.
  Graph body;
  do {
    for (size_t i = 0; i < variables; ++i) passed[order[i]] = loop.values()[i];
    body = b.source().import_body(options.body_subgraph, passed, same, true);
  } while (loop.Widen(body, 0));
  std::vector<Graph> bodies;
  bodies.push_back(b.source().import_body(options.condition_subgraph, passed, same, false));
  bodies.push_back(std::move(body));
  for (Graph& part : bodies) {
    std::vector<ValueId> ports;
    for (const size_t i : order) ports.push_back(part.inputs()[i].value);
    part.OrderInputs(ports);
  }
  std::vector<ValueId> inputs;
  for (const size_t i : order) inputs.push_back(passed[i]);
  std::vector<NodeBuilder::PartialType> types;
  std::vector<int> places;
  for (size_t i = 0; i < variables; ++i) {
    types.push_back(b.TypeOf(inputs[i]));
    places.push_back(static_cast<int>(order[i]));
  }
  b.OutputBodies(OpCode::kWhile, std::move(inputs), std::move(bodies), types, places);
}

void BuildCallOnce(TfliteBuilder& b) {
  b.source().run_once(b.Options<tflite::CallOnceOptions>().init_subgraph);
}

/// A handle names a variable, and is no tensor.
void BuildVarHandle(TfliteBuilder&) {}

const std::string& VariableOf(const TfliteBuilder& b) {
  if (b.source().variables.empty() || b.source().variables[0].empty())
    b.Unsupported("refers to a variable that is handed into a subgraph, or computed");
  return b.source().variables[0];
}

void BuildReadVariable(TfliteBuilder& b) {
  b.Output(OpCode::kIdentity, {b.source().read_variable(VariableOf(b))});
}

void BuildAssignVariable(TfliteBuilder& b) { b.source().assign_variable(VariableOf(b), b.Input(1)); }

constexpr TfliteOp kRows[] = {
    {Op::IF, BuildIf, OpCode::kIf},
    {Op::WHILE, BuildWhile, OpCode::kWhile},
    {Op::CALL_ONCE, BuildCallOnce},
    {Op::VAR_HANDLE, BuildVarHandle},
    {Op::READ_VARIABLE, BuildReadVariable},
    {Op::ASSIGN_VARIABLE, BuildAssignVariable},
    {Op::STABLEHLO_COMPOSITE, BuildComposite},
    {Op::STABLEHLO_CASE, BuildCase, OpCode::kIf},
};

}  // namespace

std::span<const TfliteOp> TfliteControlOps() { return kRows; }

}  // namespace skiff
