// The loop has variables of fixed shapes: what is taken loses its score, and how many were taken is a count.
#include "import/suppression.h"

#include <limits>

#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr double kGone = -std::numeric_limits<double>::infinity();

/// Inputs of the loop and of its bodies; the last four are no variables.
enum LoopInput : size_t { kStep, kRemaining, kTakenPlaces, kTakenOfClass, kLow, kHigh, kAreas, kPlaces };

/// One body while it is built.
struct LoopBody {
  LoopBody(const NodeBuilder& b, const std::vector<ValueId>& inputs)
      : graph(b.NewBody(inputs)), in(b.In(graph, untyped)) {}
  ValueId operator[](LoopInput input) const { return graph.inputs()[input].value; }

  Graph graph;
  NodeBuilder::UntypedReasons untyped;
  NodeBuilder in;
};

/// Whether there is room, and a candidate.
Graph Condition(NodeBuilder& b, const Suppression& rule, const std::vector<ValueId>& inputs) {
  LoopBody body(b, inputs);
  NodeBuilder& in = body.in;
  const ValueId most = in.Scalar("most", DType::kI64, static_cast<double>(rule.most));
  const ValueId room = in.Emit("room", OpCode::kLess, {body[kStep], most});
  ReduceAttrs all;
  all.keep_dims = false;
  const ValueId best = in.Emit("best", OpCode::kReduceMax, {body[kRemaining]}, all);
  const ValueId found = in.Emit("found", OpCode::kGreater, {best, in.Scalar("gone", DType::kF32, kGone)});
  body.graph.AddOutput("continue", in.Emit("continue", OpCode::kAnd, {room, found}));
  return std::move(body.graph);
}

/// Which boxes the one at `place` [1] covers, itself among them.
ValueId Covered(LoopBody& body, const Suppression& rule, ValueId place) {
  NodeBuilder& in = body.in;
  const auto of_box = [&](const char* suffix, LoopInput input, int64_t axis) {
    return in.Emit(suffix, OpCode::kGather, {body[input], place}, AxisAttrs{axis});
  };
  const ValueId ends = in.Emit("ends", OpCode::kMin, {body[kHigh], of_box("box_high", kHigh, 1)});
  const ValueId starts = in.Emit("starts", OpCode::kMax, {body[kLow], of_box("box_low", kLow, 1)});
  const ValueId between = EmitSub(in, "between", ends, starts);
  ReduceAttrs sides;
  sides.axes = {0};
  sides.keep_dims = false;
  const ValueId common =
      in.Emit("common", OpCode::kReduceProd,
              {in.Emit("common_sides", OpCode::kClamp, {between}, ClampAttrs{0, kInfinity})}, sides);
  const ValueId both = EmitAdd(in, "both", of_box("area", kAreas, 0), body[kAreas]);
  // Of two boxes without an area it is no number, which is not greater.
  const ValueId overlap = EmitDiv(in, "overlap", common, EmitSub(in, "union", both, common));
  const ValueId covered = in.Emit("overlaps", OpCode::kGreater,
                                  {overlap, in.Scalar("most_overlap", DType::kF32, rule.most_overlap)});
  const ValueId itself = in.Emit("itself", OpCode::kEqual, {body[kPlaces], place});
  return in.Emit("covered", OpCode::kOr, {covered, itself});
}

Graph Iteration(NodeBuilder& b, const Suppression& rule, const std::vector<ValueId>& inputs, int64_t boxes) {
  LoopBody body(b, inputs);
  NodeBuilder& in = body.in;
  const auto row = [&](const char* suffix, LoopInput input, ValueId index) {
    return in.Emit(suffix, OpCode::kGather, {body[input], index}, AxisAttrs{0});
  };
  const auto write = [&](const char* suffix, LoopInput into, ValueId at, ValueId value) {
    const ValueId index = EmitReshape(in, fmt::format("{}_index", suffix).c_str(), at, {1, 1});
    body.graph.AddOutput(suffix,
                         in.Emit(suffix, OpCode::kScatterND, {body[into], index, value}, ScatterAttrs{}));
  };
  const ValueId candidates = EmitReshape(in, "candidates", body[kRemaining], {-1});
  const ValueId best = in.Emit("best", OpCode::kArgMax, {candidates}, ArgAttrs{});
  const ValueId count = in.ConstantInts("boxes", {boxes});
  const ValueId of_class = EmitDiv(in, "class", best, count);
  const ValueId box = in.Emit("box", OpCode::kMod, {best, count}, ModAttrs{});
  const ValueId taken =
      EmitAdd(in, "taken", row("taken_before", kTakenOfClass, of_class), in.ConstantInts("one", {1}));
  const ValueId full = in.Emit("full", OpCode::kGreaterOrEqual,
                               {taken, in.ConstantInts("most_of_class", {rule.most_of_class})});
  const ValueId gone = in.Emit("gone", OpCode::kOr, {Covered(body, rule, box), full});
  const ValueId left =
      in.Emit("left", OpCode::kWhere,
              {gone, in.Scalar("nothing", DType::kF32, kGone), row("row", kRemaining, of_class)});
  const ValueId next = EmitAdd(in, "next_step", body[kStep], in.Scalar("one_step", DType::kI64, 1));
  body.graph.AddOutput("next_step", next);
  write("next_remaining", kRemaining, of_class, left);
  write("next_places", kTakenPlaces, body[kStep], best);
  write("next_of_class", kTakenOfClass, of_class, taken);
  return std::move(body.graph);
}

}  // namespace

Taken SuppressOverlaps(NodeBuilder& b, const Suppression& rule, const Boxes& boxes, ValueId scores) {
  const Shape extents = b.ShapeOf(scores);
  const ValueId enough = b.Emit("enough", OpCode::kGreaterOrEqual,
                                {scores, b.Scalar("least_score", DType::kF32, rule.least_score)});
  const ValueId remaining =
      b.Emit("remaining", OpCode::kWhere, {enough, scores, b.Scalar("gone", DType::kF32, kGone)});
  const auto zeros = [&](const char* suffix, int64_t count) {
    return b.Constant(suffix, TensorData(DType::kI64, Shape{count}));
  };
  const std::vector<ValueId> variables = {b.Scalar("step", DType::kI64, 0), remaining,
                                          zeros("taken_places", rule.places),
                                          zeros("taken_of_class", extents[0])};
  std::vector<ValueId> inputs = variables;
  const ValueId places_of_boxes =
      EmitCount(b, "places", b.Scalar("boxes", DType::kI64, static_cast<double>(extents[1])));
  inputs.insert(inputs.end(), {boxes.low, boxes.high, boxes.areas, places_of_boxes});
  std::vector<NodeBuilder::PartialType> types;
  for (const ValueId variable : variables) types.push_back(b.TypeOf(variable));
  std::vector<Graph> bodies;
  bodies.push_back(Condition(b, rule, inputs));
  bodies.push_back(Iteration(b, rule, inputs, extents[1]));
  const std::vector<int> places(variables.size(), -1);
  const std::vector<ValueId> results =
      b.OutputBodies(OpCode::kWhile, inputs, std::move(bodies), types, places);
  return {results[kStep], results[kTakenPlaces]};
}

}  // namespace skiff
