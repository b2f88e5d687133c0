// Loop: a While whose body counts, or, where sequences are in it and its trip count is small, its body over
// and over. A sub-graph may read every tensor around its node; these become inputs of the body.
#include <algorithm>
#include <optional>

#include "import/emit.h"
#include "import/loop_types.h"
#include "import/onnx/ops/collect.h"
#include "import/onnx/ops/unroll.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

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
  return condition == body.inputs()[1].value || IsTrue(body.value(condition).constant);
}

/// A loop variable that is a sequence, to which the body adds: what it adds is collected.
class GrowingSequence {
 public:
  GrowingSequence(OnnxBuilder& b, size_t input)
      : b_(b), input_(input), before_(b.SequenceInput(input)), loop_(b.sequences().NextLoop()) {}

  /// What the body reads.
  ValueId InBody() const { return b_.AddSequence({.grows = loop_}); }
  /// In the body: the values to collect.
  std::vector<ValueId> RowsIn(ValueId result) {
    if (!OnnxSequences::Is(result))
      b_.Invalid("the body returns a tensor where its loop variable '{}' is a sequence", Name());
    const OnnxSequence& after = b_.SequenceOf(result);
    added_ = after.parts;
    // An inner loop has collected, too, and adds as many tensors each time.
    const bool many = added_.size() == 1 && added_[0].axis == 0 && !added_[0].keep;
    const bool tensors =
        std::all_of(added_.begin(), added_.end(), [](const auto& part) { return part.axis < 0; });
    if (after.grows != loop_ || (!tensors && !many))
      OnnxBuilder::Unsupported(
          "has the sequence '{}' as a loop variable, and does more than to add tensors at its end "
          "(SequenceInsert "
          "without a position), while only the run knows how often; give it a constant trip count of at most "
          "{}, "
          "or carry a tensor instead",
          Name(), kMostUnrolled);
    std::vector<ValueId> rows;
    for (const OnnxSequence::Part& part : added_) rows.push_back(part.value);
    return rows;
  }
  size_t added() const { return added_.size(); }
  /// The sequence behind the loop. `rows` are what was collected.
  OnnxSequence Behind(const std::vector<ValueId>& rows) const {
    OnnxSequence sequence = before_;
    if (rows.empty()) return sequence;
    ValueId all = rows[0];
    if (rows.size() > 1) {
      std::vector<ValueId> beside;
      for (const ValueId row : rows) beside.push_back(EmitUnsqueeze(b_, "beside", row, Ints{1}));
      all = b_.Emit("in_turn", OpCode::kConcat, std::move(beside), AxisAttrs{1});
    }
    if (rows.size() > 1 || added_[0].axis >= 0) {
      std::vector<ValueId> extents{b_.ConstantInts("all_tensors", {-1})};
      if (const int rank = b_.RankOf(all); rank > 2) extents.push_back(ExtentsOf(b_, all, 2, rank));
      all = ReshapeTo(b_, "tensors", all, std::move(extents));
    }
    sequence.parts.push_back({all, 0});
    return sequence;
  }

 private:
  const std::string& Name() const { return b_.node().input(static_cast<int>(input_)); }

  OnnxBuilder& b_;
  size_t input_;
  OnnxSequence before_;
  int loop_;
  std::vector<OnnxSequence::Part> added_;  ///< By an iteration.
};

/// The loop variables: tensors are carried, sequences collected.
struct Variables {
  /// `tensors`: those of the node's inputs that are none of sequences, in their order.
  Variables(OnnxBuilder& b, const std::vector<ValueId>& tensors) {
    auto next = tensors.begin();
    for (size_t i = 2; i < b.input_count(); ++i) {
      if (b.IsSequence(i)) {
        growing.emplace_back(b, i);
        in_body.push_back(growing.back().InBody());
        tensor.push_back(false);
      } else {
        in_body.push_back(*next++);
        tensor.push_back(true);
      }
    }
  }
  size_t count() const { return tensor.size(); }
  size_t tensors() const { return count() - growing.size(); }

  std::vector<GrowingSequence> growing;
  std::vector<ValueId> in_body;
  std::vector<bool> tensor;
};

void CheckTripCount(const OnnxBuilder& b) {
  const std::optional<TensorData> count = b.HasInput(0) ? b.KnownValueOf(b.Input(0)) : std::nullopt;
  const bool endless =
      count && !IsFloat(count->dtype()) && count->elements() == 1 && count->ToInts()[0] >= kMostCollected;
  if (!b.HasInput(0) || endless) OnnxBuilder::Unsupported("{}", kNoTripCount);
}

/// The body of the While, and what it leaves behind.
struct LoopBody {
  Graph graph;
  Collected collected;
  bool ends_early = false;
};

LoopBody ImportLoopBody(OnnxBuilder& b, Variables& variables, const std::vector<ValueId>& ports,
                        bool begins) {
  LoopBody body{{}, {}, !begins};
  const size_t carried = variables.count();
  body.graph = b.ImportBody("body", ports, [&](Graph& graph, const std::vector<ValueId>& results) {
    if (results.size() < carried + 1 || results.size() < b.output_count() + 1)
      b.Invalid("the body returns {} values, {} were expected", results.size(),
                std::max(carried, b.output_count()) + 1);
    b.CheckTensor(results[0], "the body, as its condition,");
    const ValueId iteration = graph.inputs()[0].value;
    const ValueId one = graph.AddConstant("one", MakeConstant(DType::kI64, Shape{}, {1}));
    body.ends_early = body.ends_early || !StaysTrue(graph, results[0]);
    graph.AddOutput("iteration", graph.Emit(OpCode::kAdd, {iteration, one}, ClampAttrs()));
    graph.AddOutput("condition", AsScalar(graph, results[0]));
    std::vector<ValueId> next;
    std::vector<ValueId> grown;
    auto growing = variables.growing.begin();
    for (size_t i = 0; i < carried; ++i) {
      const ValueId result = results[i + 1];
      if (!variables.tensor[i]) {
        const std::vector<ValueId> rows = (growing++)->RowsIn(result);
        grown.insert(grown.end(), rows.begin(), rows.end());
        continue;
      }
      b.CheckTensor(result, "the body, for a loop variable that is a tensor,");
      next.push_back(result);
      graph.AddOutput(graph.value(result).name, result);
    }
    std::vector<ValueId> rows(results.begin() + 1 + static_cast<std::ptrdiff_t>(carried), results.end());
    for (const ValueId row : rows) b.CheckTensor(row, "the body, as a scan output,");
    rows.insert(rows.end(), grown.begin(), grown.end());
    body.collected.AddToBody(graph, iteration, rows, next, 2);
  });
  return body;
}

/// While(iteration, condition, carried..., collected..., captured..., limit).
void BuildLoop(OnnxBuilder& b) {
  const size_t carried = b.input_count() < 2 ? 0 : b.input_count() - 2;
  bool sequences = b.captures_sequences();
  for (size_t i = 2; i < b.input_count(); ++i) sequences = sequences || b.IsSequence(i);
  if (sequences && BuildUnrolledLoop(b, carried)) return;
  const ValueId scalar = b.ConstantInts("scalar", {});
  const ValueId limit = b.HasInput(0) ? b.Emit("limit", OpCode::kReshape, {b.Input(0), scalar})
                                      : b.Scalar("limit", DType::kI64, 0x1p62);
  const ValueId condition = b.HasInput(1) ? b.Emit("condition", OpCode::kReshape, {b.Input(1), scalar})
                                          : b.Scalar("condition", DType::kBool, 1);
  std::vector<ValueId> first;
  for (size_t i = 2; i < b.input_count(); ++i) {
    if (!b.IsSequence(i)) first.push_back(b.Input(i));
  }
  LoopTypes tensors(b, first);
  std::vector<ValueId> variables{b.Scalar("iteration", DType::kI64, 0), condition};
  std::optional<Variables> around_body;
  LoopBody body;
  do {
    around_body.emplace(b, tensors.values());
    std::vector<ValueId> ports = variables;
    ports.insert(ports.end(), around_body->in_body.begin(), around_body->in_body.end());
    body = ImportLoopBody(b, *around_body, ports, IsTrue(b.KnownValueOf(condition)));
  } while (tensors.Widen(body.graph, variables.size()));
  const Variables& loop = *around_body;
  variables.insert(variables.end(), tensors.values().begin(), tensors.values().end());
  if (body.collected.count() > 0) CheckTripCount(b);
  body.collected.PlaceInputs(body.graph, variables.size());
  std::vector<ValueId> around = variables;
  around.insert(around.end(), b.captured().begin(), b.captured().end());
  const std::vector<ValueId> room = body.collected.EmitRoom(b, limit, around);
  variables.insert(variables.end(), room.begin(), room.end());
  std::vector<OnnxBuilder::PartialType> types;  // A loop variable keeps its type.
  for (const ValueId variable : variables) types.push_back(b.TypeOf(variable));
  std::vector<ValueId> inputs = variables;
  inputs.insert(inputs.end(), b.captured().begin(), b.captured().end());
  inputs.push_back(limit);
  const ValueId unused = body.graph.AddInput("limit", DType::kI64, {});
  body.graph.value(unused).source.clear();
  std::vector<Graph> bodies;
  bodies.push_back(GoesOn(body.graph, true));
  bodies.push_back(std::move(body.graph));
  // The count and the condition are nobody's; what an early end leaves over is cut off first.
  std::vector<int> places(types.size(), -1);
  std::vector<int> outputs;
  for (size_t i = 0; i < b.output_count(); ++i) {
    if (i >= carried || loop.tensor[i]) outputs.push_back(static_cast<int>(i));
  }
  const size_t direct = body.ends_early ? std::min(loop.tensors(), outputs.size()) : outputs.size();
  std::copy_n(outputs.begin(), direct, places.begin() + 2);
  std::vector<ValueId> results =
      b.OutputBodies(OpCode::kWhile, std::move(inputs), std::move(bodies), types, places);
  const auto cut = [&](size_t i) -> std::vector<ValueId> {
    const std::string suffix = fmt::format("rows_{}", i);
    return {results[i], b.ConstantInts((suffix + "_begin").c_str(), {0}),
            EmitReshape(b, suffix.c_str(), results[0], {1}), b.ConstantInts((suffix + "_axis").c_str(), {0})};
  };
  for (size_t i = direct; i < outputs.size(); ++i)
    b.Output(OpCode::kSlice, cut(i + 2), NoAttrs{}, static_cast<size_t>(outputs[i]));
  size_t row = results.size();
  for (const GrowingSequence& growing : loop.growing) row -= growing.added();
  auto growing = loop.growing.begin();
  for (size_t i = 0; i < carried; ++i) {
    if (loop.tensor[i]) continue;
    std::vector<ValueId> rows;
    for (size_t k = 0; k < growing->added(); ++k, ++row)
      rows.push_back(body.ends_early ? b.Emit("collected", OpCode::kSlice, cut(row)) : results[row]);
    OnnxSequence behind = (growing++)->Behind(rows);
    if (i < b.output_count()) b.OutputSequence(i, std::move(behind));
  }
}

constexpr OnnxOp kOps[] = {
    {"Loop", 1, kNewestOnnxOpset, BuildLoop, OpCode::kWhile, SequencesFrom(2)},
};

}  // namespace

std::span<const OnnxOp> OnnxLoopOps() { return kOps; }

}  // namespace skiff
