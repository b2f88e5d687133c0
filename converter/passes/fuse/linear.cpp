#include "passes/fuse/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/prefix.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/quantize/qdq.h"
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

/// The constant that weights are: of quantised ones its integers. kNoValue: they are computed.
ValueId ConstantOf(const Graph& graph, ValueId weights) {
  if (graph.value(weights).constant) return weights;
  const ValueId codes = DequantizedFrom(graph, weights);
  return codes != kNoValue && graph.value(codes).constant ? codes : kNoValue;
}

/// Whether x are codes, which were moved at most: with weights of integers fold-qdq makes a product over
/// integers of it, which takes neither a scale of each output beside zero points nor every addend.
bool AreCodes(const Graph& graph, ValueId x) {
  for (int visits = 0; visits < kMostVisits; ++visits) {
    const NodeId producer = graph.value(x).producer;
    if (producer == kNoNode) return false;
    const Node& node = graph.node(producer);
    if (node.op == OpCode::kDequantize) return true;
    if (QuantizedUseOf(node.op) != QuantizedUse::kMoves || node.inputs.empty()) return false;
    x = node.inputs[0];
  }
  return true;
}

/// Takes from the budget what new weights and a new bias need.
bool HasRoom(Graph& graph, ValueId weights, ValueId bias, const ChannelAffine& affine) {
  if (!IsAll(affine.factor, 1) && !TakeFoldingCopy(graph, ConstantOf(graph, weights))) return false;
  if (bias != kNoValue) return TakeFoldingCopy(graph, bias);
  const auto channels = static_cast<int64_t>(affine.addend.size());
  return IsAll(affine.addend, 0) || TakeFoldingBytes(graph, channels * DTypeSize(graph.value(weights).dtype));
}

/// Why not, or "".
std::string ScaleNumbers(Graph& graph, NodeId id, const std::vector<double>& factors) {
  const ValueId before = graph.node(id).inputs[1];
  const TensorData weights = *graph.value(before).constant;
  // Chains of factors multiply the same weights again and again.
  std::optional<std::vector<double>> numbers = TakeNumbers(graph, weights);
  if (!numbers) return kTooMuchWork;
  std::vector<double> products = *numbers;
  const size_t inner = products.size() / factors.size();
  for (size_t i = 0; i < products.size(); ++i) products[i] *= factors[i / inner];
  if (LosesNumbers(weights.dtype(), *numbers, products)) return kBeyondType;
  const TensorData scaled = RoundedTo(weights.dtype(), weights.shape(), products);
  graph.SetInput(id, 1, graph.AddConstant(PrefixOf(graph.value(before).name) + ".scaled", scaled));
  ReleaseIfUnused(graph, before);
  return "";
}

/// Of quantised weights: the integers stay, their scales take the factors. Why not, or "".
std::string ScaleScales(Graph& graph, NodeId id, ValueId codes, const std::vector<double>& factors) {
  const TensorData weights = *graph.value(codes).constant;
  const Quantization& before = *weights.quantization();
  if (!before.per_tensor() && (before.axis != 0 || before.block != 0))
    return "its weights have other scales than one for each output";
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  for (size_t i = 0; i < factors.size(); ++i) {
    const int64_t at = before.per_tensor() ? 0 : static_cast<int64_t>(i);
    const double scale = static_cast<double>(before.ScaleAt(at)) * factors[i];
    if (!(scale > 0) || !IsNormalIn(DType::kF32, scale))
      return "a scale of its weights would not be a positive number with all its digits";
    scales.push_back(static_cast<float>(scale));
    if (!HasZeroPoint(before, 0)) zero_points.push_back(before.ZeroPointAt(at));
  }
  const bool one = before.per_tensor() && IsAll(factors, factors[0]);
  const TensorData scaled =
      weights.Quantized(one ? PerTensor(scales[0], before.ZeroPointAt(0)) : PerAxis(0, scales, zero_points));
  const ValueId constant = graph.AddConstant(PrefixOf(graph.value(codes).name) + ".scaled", scaled);
  const std::string name = PrefixOf(graph.value(graph.node(id).inputs[1]).name) + ".scaled";
  graph.SetInput(id, 1, EmitTyped(graph, OpCode::kDequantize, {constant}, NoAttrs{}, name, id));
  return "";
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
  if (ConstantOf(graph, node.inputs[1]) == kNoValue)
    return "the weights of '" + node.name + "' are not constant";
  if (!graph.value(node.inputs[1]).constant && AreCodes(graph, node.inputs[0]))
    return "'" + node.name + "' multiplies integers";
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
  const std::string base = PrefixOf(graph.value(old_bias != kNoValue ? old_bias : old_weights).name);
  const DType dtype = graph.value(old_weights).dtype;
  const auto channels = static_cast<int64_t>(affine.factor.size());
  std::vector<double> bias = affine.addend;
  if (old_bias != kNoValue) {
    const std::vector<double> numbers = graph.value(old_bias).constant->ToDoubles();
    for (size_t i = 0; i < bias.size(); ++i) bias[i] += numbers[i] * affine.factor[i];
    if (AreFiniteIn(dtype, numbers) && !AreFiniteIn(dtype, bias)) return kBeyondType;
  }
  if (!IsAll(affine.factor, 1)) {
    const ValueId constant = ConstantOf(graph, old_weights);
    std::string obstacle = constant == old_weights ? ScaleNumbers(graph, id, affine.factor)
                                                   : ScaleScales(graph, id, constant, affine.factor);
    if (!obstacle.empty()) return obstacle;
  }
  if (old_bias == kNoValue && IsAll(bias, 0)) return "";
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
