// TensorFlow Lite rows: IF, WHILE, and variables.
#include <numeric>

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

/// Where the condition is known, the other branch need not even be valid.
void BuildIf(TfliteBuilder& b) {
  const auto options = b.Options<tflite::IfOptions>();
  const std::vector<ValueId> passed = InputsFrom(b, 1);
  const std::optional<TensorData> known = b.KnownValueOf(b.Input(0));
  const bool decided = known && known->dtype() == DType::kBool && known->elements() == 1;
  const bool chosen = decided && *known->as<uint8_t>() != 0;
  const int32_t first = decided && !chosen ? options.else_subgraph : options.then_subgraph;
  const std::vector<bool> same(passed.size(), true);
  Graph then_body = b.source().import_body(first, passed, same, false);
  Graph else_body = decided ? then_body : b.source().import_body(options.else_subgraph, passed, same, false);
  for (const Graph* body : {&then_body, &else_body}) {
    if (body->outputs().size() != b.output_count())
      b.Invalid("a branch returns {} values, the operator {}", body->outputs().size(), b.output_count());
  }
  std::vector<NodeBuilder::PartialType> types;
  for (size_t i = 0; i < b.output_count(); ++i)
    types.push_back(b.Common(NodeBuilder::TypeOf(then_body, then_body.outputs()[i].value),
                             NodeBuilder::TypeOf(else_body, else_body.outputs()[i].value)));
  std::vector<ValueId> inputs{b.Input(0)};
  inputs.insert(inputs.end(), passed.begin(), passed.end());
  std::vector<Graph> bodies;
  bodies.push_back(std::move(then_body));
  bodies.push_back(std::move(else_body));
  std::vector<int> places(types.size());
  std::iota(places.begin(), places.end(), 0);
  b.OutputBodies(OpCode::kIf, std::move(inputs), std::move(bodies), types, places);
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
    {Op::IF, BuildIf, OpCode::kIf},         {Op::WHILE, BuildWhile, OpCode::kWhile},
    {Op::CALL_ONCE, BuildCallOnce},         {Op::VAR_HANDLE, BuildVarHandle},
    {Op::READ_VARIABLE, BuildReadVariable}, {Op::ASSIGN_VARIABLE, BuildAssignVariable},
};

}  // namespace

std::span<const TfliteOp> TfliteControlOps() { return kRows; }

}  // namespace skiff
