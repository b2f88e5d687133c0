// If and Loop. A sub-graph may read every tensor around its node; these become inputs of the body.
#include <algorithm>
#include <numeric>

#include "import/emit.h"
#include "import/onnx/ops/collect.h"

namespace skiff {
namespace {

/// Where the condition is known, the other branch need not even be valid: exporters write one for each rank.
void BuildIf(OnnxBuilder& builder) {
  const std::optional<TensorData> known = builder.KnownValueOf(builder.Input(0));
  const bool decided = known && known->dtype() == DType::kBool && known->elements() == 1;
  const bool chosen = decided && *known->as<uint8_t>() != 0;
  Graph then_body = builder.ImportBody(decided && !chosen ? "else_branch" : "then_branch", {}, nullptr);
  Graph else_body = decided ? then_body : builder.ImportBody("else_branch", {}, nullptr);
  std::vector<ValueId> inputs{builder.Input(0)};
  inputs.insert(inputs.end(), builder.captured().begin(), builder.captured().end());
  for (const Graph* body : {&then_body, &else_body}) {
    if (body->outputs().size() != builder.output_count())
      builder.Invalid("a branch returns {} values, the node {}", body->outputs().size(),
                      builder.output_count());
  }
  std::vector<OnnxBuilder::PartialType> types;
  for (size_t i = 0; i < builder.output_count(); ++i) {
    types.push_back(builder.Common(OnnxBuilder::TypeOf(then_body, then_body.outputs()[i].value),
                                   OnnxBuilder::TypeOf(else_body, else_body.outputs()[i].value)));
  }
  std::vector<Graph> bodies;
  bodies.push_back(std::move(then_body));
  bodies.push_back(std::move(else_body));
  std::vector<int> places(types.size());
  std::iota(places.begin(), places.end(), 0);
  builder.OutputBodies(OpCode::kIf, std::move(inputs), std::move(bodies), types, places);
}

ValueId AsScalar(Graph& graph, ValueId value) {
  return graph.Emit(OpCode::kReshape, {value, graph.AddConstant("scalar", TensorData::OfInts({}))});
}

/// Whether the loop never ends before its limit: its condition is true, and stays so.
bool StaysTrue(const Graph& body, ValueId condition) {
  for (NodeId node = body.value(condition).producer; node != kNoNode; node = body.value(condition).producer) {
    const OpCode op = body.node(node).op;
    if (op != OpCode::kIdentity && op != OpCode::kReshape) return false;
    condition = body.node(node).inputs[0];
  }
  if (condition == body.inputs()[1].value) return true;
  const std::optional<TensorData>& known = body.value(condition).constant;
  return known && known->dtype() == DType::kBool && known->elements() == 1 && *known->as<uint8_t>() != 0;
}

bool IsTrue(const OnnxBuilder& builder, ValueId condition) {
  const std::optional<TensorData> known = builder.KnownValueOf(condition);
  return known && known->dtype() == DType::kBool && known->elements() == 1 && *known->as<uint8_t>() != 0;
}

/// No loop that collects runs as often: such a count stands for none.
constexpr int64_t kMostCollected = int64_t{1} << 31;

void CheckTripCount(const OnnxBuilder& builder) {
  const std::optional<TensorData> count =
      builder.HasInput(0) ? builder.KnownValueOf(builder.Input(0)) : std::nullopt;
  const bool endless =
      count && !IsFloat(count->dtype()) && count->elements() == 1 && count->ToInts()[0] >= kMostCollected;
  if (!builder.HasInput(0) || endless) OnnxBuilder::Unsupported("{}", kNoTripCount);
}

/// While(iteration, condition, carried..., collected..., captured..., limit).
void BuildLoop(OnnxBuilder& builder) {
  const size_t carried = builder.input_count() < 2 ? 0 : builder.input_count() - 2;
  const ValueId scalar = builder.ConstantInts("scalar", {});
  const ValueId limit = builder.HasInput(0)
                            ? builder.Emit("limit", OpCode::kReshape, {builder.Input(0), scalar})
                            : builder.Scalar("limit", DType::kI64, 0x1p62);
  const ValueId condition = builder.HasInput(1)
                                ? builder.Emit("condition", OpCode::kReshape, {builder.Input(1), scalar})
                                : builder.Scalar("condition", DType::kBool, 1);
  std::vector<ValueId> variables{builder.Scalar("iteration", DType::kI64, 0), condition};
  for (size_t i = 0; i < carried; ++i) variables.push_back(builder.Input(i + 2));
  Collected collected;
  bool ends_early = !IsTrue(builder, condition);
  Graph body = builder.ImportBody("body", variables, [&](Graph& graph, const std::vector<ValueId>& results) {
    if (results.size() < carried + 1 || results.size() < builder.output_count() + 1)
      builder.Invalid("the body returns {} values, {} were expected", results.size(),
                      std::max(carried, builder.output_count()) + 1);
    const ValueId iteration = graph.inputs()[0].value;
    const ValueId one = graph.AddConstant("one", MakeConstant(DType::kI64, Shape{}, {1}));
    ends_early = ends_early || !StaysTrue(graph, results[0]);
    graph.AddOutput("iteration", graph.Emit(OpCode::kAdd, {iteration, one}, ClampAttrs()));
    graph.AddOutput("condition", AsScalar(graph, results[0]));
    for (size_t i = 1; i <= carried; ++i) graph.AddOutput(graph.value(results[i]).name, results[i]);
    const auto row = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried);
    collected.AddToBody(graph, iteration, {row, results.end()}, {results.begin() + 1, row}, 2);
  });
  if (collected.count() > 0) CheckTripCount(builder);
  collected.PlaceInputs(body, variables.size());
  std::vector<ValueId> around = variables;
  around.insert(around.end(), builder.captured().begin(), builder.captured().end());
  const std::vector<ValueId> room = collected.EmitRoom(builder, limit, around);
  variables.insert(variables.end(), room.begin(), room.end());
  std::vector<OnnxBuilder::PartialType> types;  // A loop variable keeps its type.
  for (const ValueId variable : variables) types.push_back(builder.TypeOf(variable));
  std::vector<ValueId> inputs = variables;
  inputs.insert(inputs.end(), builder.captured().begin(), builder.captured().end());
  inputs.push_back(limit);
  const ValueId unused = body.AddInput("limit", DType::kI64, {});
  body.value(unused).source.clear();
  std::vector<Graph> bodies;
  bodies.push_back(GoesOn(body, true));
  bodies.push_back(std::move(body));
  std::vector<int> places(types.size(), -1);  // The count and the condition are nobody's.
  const size_t direct = ends_early ? carried : builder.output_count();
  for (size_t i = 0; i < std::min(direct, builder.output_count()); ++i) places[i + 2] = static_cast<int>(i);
  const std::vector<ValueId> results =
      builder.OutputBodies(OpCode::kWhile, std::move(inputs), std::move(bodies), types, places);
  for (size_t i = direct; i < builder.output_count(); ++i) {
    const std::string suffix = fmt::format("rows_{}", i);
    builder.Output(OpCode::kSlice,
                   {results[i + 2], builder.ConstantInts((suffix + "_begin").c_str(), {0}),
                    EmitReshape(builder, suffix.c_str(), results[0], {1}),
                    builder.ConstantInts((suffix + "_axis").c_str(), {0})},
                   NoAttrs{}, i);
  }
}

constexpr OnnxOp kOps[] = {
    {"If", 1, kNewestOnnxOpset, BuildIf, OpCode::kIf},
    {"Loop", 1, kNewestOnnxOpset, BuildLoop, OpCode::kWhile},
};

}  // namespace

std::span<const OnnxOp> OnnxControlOps() { return kOps; }

}  // namespace skiff
