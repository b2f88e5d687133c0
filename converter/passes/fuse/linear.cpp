#include "passes/fuse/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/prefix.h"
#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/release_constants.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

bool IsAll(const std::vector<double>& numbers, double wanted) {
  return std::all_of(numbers.begin(), numbers.end(), [wanted](double number) { return number == wanted; });
}

struct Range {
  double min;
  double max;
};

Range NormalRange(DType dtype) {
  if (dtype == DType::kF16) return {0x1p-14, 65504};
  if (dtype == DType::kF32) return {std::numeric_limits<float>::min(), std::numeric_limits<float>::max()};
  return {std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};
}

constexpr const char* kBeyondType = "weights or bias times it are what their type cannot hold";

double LargestOf(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

/// Whether weights become infinite that were not, or all of them so small that digits are lost; beside larger
/// ones those digits count for nothing.
bool LosesNumbers(DType dtype, const std::vector<double>& numbers, const std::vector<double>& products) {
  const double largest = LargestOf(products);
  if (AreFiniteIn(dtype, numbers) && !IsFiniteIn(dtype, largest)) return true;
  return IsNormalIn(dtype, LargestOf(numbers)) && largest > 0 && largest < NormalRange(dtype).min;
}

/// Takes from the budget what new weights and a new bias need.
bool HasRoom(Graph& graph, ValueId weights, ValueId bias, const ChannelAffine& affine) {
  if (!IsAll(affine.factor, 1) && !TakeFoldingCopy(graph, weights)) return false;
  if (bias != kNoValue) return TakeFoldingCopy(graph, bias);
  const auto channels = static_cast<int64_t>(affine.addend.size());
  return IsAll(affine.addend, 0) || TakeFoldingBytes(graph, channels * DTypeSize(graph.value(weights).dtype));
}

}  // namespace

bool IsLinear(OpCode op) {
  return op == OpCode::kConv2d || op == OpCode::kConvTranspose2d || op == OpCode::kFullyConnected;
}

bool IsFiniteIn(DType dtype, double number) { return std::abs(number) <= NormalRange(dtype).max; }

bool IsNormalIn(DType dtype, double number) {
  return IsFiniteIn(dtype, number) && std::abs(number) >= NormalRange(dtype).min;
}

bool AreFiniteIn(DType dtype, const std::vector<double>& factors) {
  return std::all_of(factors.begin(), factors.end(),
                     [&](double number) { return IsFiniteIn(dtype, number); });
}

std::string WhyNotRescalable(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ClampAttrs clamp = FusedClamp(node);
  const ValueId bias = InputOf(graph, id, 2);
  if (TouchesQuantized(graph, node)) return "'" + node.name + "' is quantised";
  if (!graph.value(node.inputs[1]).constant) return "the weights of '" + node.name + "' are not constant";
  if (bias != kNoValue && !graph.value(bias).constant)
    return "the bias of '" + node.name + "' is not constant";
  if (!IsUnbounded(clamp.min, clamp.max)) return "'" + node.name + "' has an activation";
  if (graph.OnlyUser(node.outputs[0]) == kNoNode) {
    return "the output of '" + node.name + "' " + DescribeUses(graph, node.outputs[0]);
  }
  return "";
}

std::string Rescale(Graph& graph, NodeId id, const ChannelAffine& affine) {
  const ValueId old_weights = graph.node(id).inputs[1];
  const ValueId old_bias = InputOf(graph, id, 2);
  if (!HasRoom(graph, old_weights, old_bias, affine)) return kTooMuchWork;
  const TensorData weights = *graph.value(old_weights).constant;
  const DType dtype = weights.dtype();
  const auto channels = static_cast<int64_t>(affine.factor.size());
  std::vector<double> bias = affine.addend;
  if (old_bias != kNoValue) {
    const std::vector<double> numbers = graph.value(old_bias).constant->ToDoubles();
    for (size_t i = 0; i < bias.size(); ++i) bias[i] += numbers[i] * affine.factor[i];
    if (AreFiniteIn(dtype, numbers) && !AreFiniteIn(dtype, bias)) return kBeyondType;
  }
  if (!IsAll(affine.factor, 1)) {
    // Chains of factors multiply the same weights again and again.
    std::optional<std::vector<double>> numbers = TakeNumbers(graph, weights);
    if (!numbers) return kTooMuchWork;
    std::vector<double> products = *numbers;
    const size_t inner = products.size() / affine.factor.size();
    for (size_t i = 0; i < products.size(); ++i) products[i] *= affine.factor[i / inner];
    if (LosesNumbers(dtype, *numbers, products)) return kBeyondType;
    const TensorData scaled = RoundedTo(dtype, weights.shape(), products);
    graph.SetInput(id, 1, graph.AddConstant(PrefixOf(graph.value(old_weights).name) + ".scaled", scaled));
    ReleaseIfUnused(graph, old_weights);
  }
  if (old_bias == kNoValue && IsAll(bias, 0)) return "";
  const std::string base = PrefixOf(graph.value(old_bias != kNoValue ? old_bias : old_weights).name);
  graph.SetInput(id, 2, graph.AddConstant(base + ".bias", RoundedTo(dtype, Shape{channels}, bias)));
  if (old_bias != kNoValue) ReleaseIfUnused(graph, old_bias);
  return "";
}

std::optional<std::vector<double>> PerChannel(Graph& graph, ValueId id, int64_t channels) {
  if (!graph.value(id).constant) return {};
  const TensorData& data = *graph.value(id).constant;
  if (data.elements() == 1) return std::vector<double>(static_cast<size_t>(channels), data.ToDoubles()[0]);
  if (data.elements() != channels || data.shape().last() != channels) return {};
  return TakeNumbers(graph, data);
}

}  // namespace skiff
