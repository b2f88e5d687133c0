#include "import/onnx/ops/unroll.h"

#include <algorithm>
#include <limits>

#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Nothing where only the run knows it.
std::optional<int64_t> KnownTripCount(const OnnxBuilder& b) {
  if (!b.HasInput(0)) return std::numeric_limits<int64_t>::max();
  const std::optional<TensorData> count = b.KnownValueOf(b.Input(0));
  if (!count || IsFloat(count->dtype()) || count->elements() != 1) return {};
  return std::max<int64_t>(count->ToInts()[0], 0);
}

/// That a loop is unrolled to. With more, its body is better there once.
constexpr int64_t kMostNodes = 20'000;

/// What a loop makes that is unrolled.
struct Unrolled {
  std::vector<ValueId> variables;          ///< Tensors and sequences.
  std::vector<std::vector<ValueId>> rows;  ///< Of each scan output.
};

/// Nothing where it cannot be told how often the loop runs, or that is too often; no node is left then.
std::optional<Unrolled> Unroll(OnnxBuilder& b, size_t carried) {
  const std::optional<int64_t> trips = KnownTripCount(b);
  const std::optional<TensorData> first = b.HasInput(1) ? b.KnownValueOf(b.Input(1)) : std::nullopt;
  // Without a limit, the condition may end it.
  if (!trips || (*trips > kMostUnrolled && *trips < kMostCollected) || (b.HasInput(1) && !first)) return {};
  const int64_t nodes = b.BodyOf("body", 2 + carried).node_size();
  if (nodes * std::min(*trips, kMostUnrolled) > kMostNodes) return {};
  const NodeId mark = b.NextNode();
  bool goes_on = !b.HasInput(1) || IsTrue(first);
  Unrolled made{{}, std::vector<std::vector<ValueId>>(b.output_count() - carried)};
  for (size_t i = 0; i < carried; ++i) made.variables.push_back(b.AnyInput(i + 2));
  for (int64_t trip = 0; goes_on && trip < *trips; ++trip) {
    std::vector<ValueId> inputs{b.Scalar("iteration", DType::kI64, static_cast<double>(trip)),
                                b.Scalar("condition", DType::kBool, 1)};
    inputs.insert(inputs.end(), made.variables.begin(), made.variables.end());
    const std::vector<ValueId> results = b.InlineBody("body", inputs, fmt::format("{}", trip), false);
    if (results.size() != 1 + b.output_count())
      b.Invalid("the body returns {} values, {} were expected", results.size(), 1 + b.output_count());
    b.CheckTensor(results[0], "the body, as its condition,");
    const std::optional<TensorData> known = b.KnownValueOf(results[0]);
    if (!known || trip >= kMostUnrolled) {
      b.RemoveNodesFrom(mark);
      return {};
    }
    goes_on = IsTrue(known);
    std::copy_n(results.begin() + 1, carried, made.variables.begin());
    for (size_t i = 0; i < made.rows.size(); ++i) {
      const ValueId row = results[1 + carried + i];
      b.CheckTensor(row, "the body, as a scan output,");
      made.rows[i].push_back(row);
    }
  }
  return made;
}

void OutputUnrolled(OnnxBuilder& b, const Unrolled& made) {
  const size_t carried = made.variables.size();
  for (size_t i = 0; i < carried; ++i) {
    if (OnnxSequences::Is(made.variables[i])) {
      b.OutputAs(i, made.variables[i]);
    } else {
      b.Output(OpCode::kIdentity, {made.variables[i]}, NoAttrs{}, i);
    }
  }
  for (size_t i = 0; i < made.rows.size(); ++i) {
    if (made.rows[i].empty()) {
      if (b.OutputUsed(carried + i)) OnnxBuilder::Unsupported("never runs, and what it collects is read");
      continue;
    }
    std::vector<ValueId> rows;
    for (const ValueId row : made.rows[i]) rows.push_back(EmitUnsqueeze(b, "row", row, Ints{0}));
    b.Output(OpCode::kConcat, std::move(rows), AxisAttrs{0}, carried + i);
  }
}

}  // namespace

bool IsTrue(const std::optional<TensorData>& known) {
  return known && known->dtype() == DType::kBool && known->elements() == 1 && *known->as<uint8_t>() != 0;
}

bool BuildUnrolledLoop(OnnxBuilder& b, size_t carried) {
  if (b.output_count() < carried)
    b.Invalid("the node has {} outputs and {} loop variables", b.output_count(), carried);
  const std::optional<Unrolled> made = Unroll(b, carried);
  if (made) OutputUnrolled(b, *made);
  return made.has_value();
}

}  // namespace skiff
