#include "import/tflite/combiner.h"

#include <algorithm>

#include "import/tflite/ops.h"

namespace skiff {
namespace {

constexpr OpCode kCombiners[] = {OpCode::kAdd, OpCode::kMul, OpCode::kMin,
                                 OpCode::kMax, OpCode::kAnd, OpCode::kOr};

bool IsActivated(const tflite::Operator& node) {
  const auto* sum = node.options_as_AddOptions();
  const auto* product = node.options_as_MulOptions();
  return (sum != nullptr && sum->activation() != tflite::Activation::NONE) ||
         (product != nullptr && product->activation() != tflite::Activation::NONE);
}

}  // namespace

std::optional<OpCode> CombinerOf(const TfliteFile& file, const tflite::SubGraph& graph) {
  if (SizeOf(graph.inputs()) != 2 || SizeOf(graph.outputs()) != 1) return {};
  const int32_t a = graph.inputs()->Get(0);
  const int32_t b = graph.inputs()->Get(1);
  const int32_t result = graph.outputs()->Get(0);
  if (a == b) return {};
  if (SizeOf(graph.operators()) == 0)
    return result == b ? std::optional<OpCode>(OpCode::kIdentity) : std::nullopt;
  const tflite::Operator& node = *graph.operators()->Get(0);
  if (SizeOf(graph.operators()) != 1 || SizeOf(node.inputs()) != 2 || SizeOf(node.outputs()) != 1) return {};
  const bool of_both = std::minmax({node.inputs()->Get(0), node.inputs()->Get(1)}) == std::minmax({a, b});
  if (!of_both || node.outputs()->Get(0) != result || IsActivated(node)) return {};
  const OpCode op = FindTfliteOp(file.OperatorOf(node)).op;
  const bool combines = std::find(std::begin(kCombiners), std::end(kCombiners), op) != std::end(kCombiners);
  return combines ? std::optional<OpCode>(op) : std::nullopt;
}

}  // namespace skiff
