// If and Loop. A sub-graph may read every tensor around its node; these become inputs of the body.
#include <limits>
#include <numeric>

#include "import/onnx/ops.h"

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

/// Iterations go on while they are fewer than the limit and the last one said so. The inputs are the body's.
Graph LoopCondition(const Graph& body) {
  Graph graph;
  graph.symbols() = body.symbols();
  for (const GraphPort& port : body.inputs()) {
    const ValueId input = graph.AddInput(port.name, DType::kInvalid, {});
    graph.value(input).has_shape = false;
    graph.value(input).source.clear();
  }
  const ValueId iteration = graph.inputs().front().value;
  const ValueId limit = graph.inputs().back().value;
  const ValueId more = graph.Emit(OpCode::kLess, {iteration, limit});
  graph.AddOutput("continue", graph.Emit(OpCode::kAnd, {more, graph.inputs()[1].value}));
  return graph;
}

/// While(iteration, condition, carried..., captured..., limit).
void BuildLoop(OnnxBuilder& builder) {
  const size_t carried = builder.input_count() < 2 ? 0 : builder.input_count() - 2;
  if (builder.output_count() > carried) {
    OnnxBuilder::Unsupported(
        "collects a value of each iteration (scan outputs); carry a tensor that is large enough, and write a "
        "part "
        "of it in each iteration with ScatterND");
  }
  const ValueId scalar = builder.ConstantInts("scalar", {});
  const ValueId limit = builder.HasInput(0)
                            ? builder.Emit("limit", OpCode::kReshape, {builder.Input(0), scalar})
                            : builder.Scalar("limit", DType::kI64, 0x1p62);
  const ValueId condition = builder.HasInput(1)
                                ? builder.Emit("condition", OpCode::kReshape, {builder.Input(1), scalar})
                                : builder.Scalar("condition", DType::kBool, 1);
  std::vector<ValueId> inputs{builder.Scalar("iteration", DType::kI64, 0), condition};
  for (size_t i = 0; i < carried; ++i) inputs.push_back(builder.Input(i + 2));
  const std::vector<ValueId> variables = inputs;
  std::vector<OnnxBuilder::PartialType> types;  // A loop variable keeps its type.
  for (const ValueId variable : variables) types.push_back(builder.TypeOf(variable));
  inputs.insert(inputs.end(), builder.captured().begin(), builder.captured().end());
  inputs.push_back(limit);
  Graph body = builder.ImportBody("body", variables, [&](Graph& graph, const std::vector<ValueId>& results) {
    if (results.size() != carried + 1)
      builder.Invalid("the body returns {} values, {} were expected", results.size(), carried + 1);
    const ValueId one = graph.AddConstant("one", MakeConstant(DType::kI64, Shape{}, {1}));
    graph.AddOutput("iteration", graph.Emit(OpCode::kAdd, {graph.inputs()[0].value, one}, ClampAttrs()));
    graph.AddOutput("condition", AsScalar(graph, results[0]));
    for (size_t i = 1; i < results.size(); ++i) graph.AddOutput(graph.value(results[i]).name, results[i]);
  });
  const ValueId unused = body.AddInput("limit", DType::kI64, {});
  body.value(unused).source.clear();
  std::vector<Graph> bodies;
  bodies.push_back(LoopCondition(body));
  bodies.push_back(std::move(body));
  std::vector<int> places(types.size(), -1);  // The count and the condition are nobody's.
  std::iota(places.begin() + 2, places.begin() + 2 + static_cast<int64_t>(builder.output_count()), 0);
  builder.OutputBodies(OpCode::kWhile, std::move(inputs), std::move(bodies), types, places);
}

constexpr OnnxOp kOps[] = {
    {"If", 1, kNewestOnnxOpset, BuildIf, OpCode::kIf},
    {"Loop", 1, kNewestOnnxOpset, BuildLoop, OpCode::kWhile},
};

}  // namespace

std::span<const OnnxOp> OnnxControlOps() { return kOps; }

}  // namespace skiff
