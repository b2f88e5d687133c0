// BatchNorm with constant statistics is y * a + b per channel.
#include <algorithm>
#include <cmath>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/folding_budget.h"
#include "passes/fuse/linear.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// The integers, where those of a Dequantize are constant.
const TensorData* ConstantNumbers(const Graph& graph, NodeId id, int input) {
  const ValueId codes = DequantizedFrom(graph, graph.node(id).inputs[static_cast<size_t>(input)]);
  if (codes == kNoValue) return graph.ConstantInput(id, input);
  return graph.value(codes).constant ? &*graph.value(codes).constant : nullptr;
}

/// Nothing where an input is not constant or has another length, or no budget is left to look at it.
std::optional<ChannelAffine> ReadBatchNorm(Graph& graph, NodeId id) {
  std::vector<double> inputs[4];  // Scale, bias, mean, variance.
  for (int i = 0; i < 4; ++i) {
    const TensorData* data = ConstantNumbers(graph, id, i + 1);
    if (data == nullptr) return {};
    std::optional<std::vector<double>> numbers = TakeNumbers(graph, *data);
    if (!numbers) return {};
    inputs[i] = *std::move(numbers);
    if (inputs[i].size() != inputs[0].size()) return {};
  }
  const auto epsilon = static_cast<double>(graph.node(id).As<NormAttrs>().epsilon);
  ChannelAffine affine;
  for (size_t c = 0; c < inputs[0].size(); ++c) {
    const double factor = inputs[0][c] / std::sqrt(inputs[3][c] + epsilon);
    affine.factor.push_back(factor);
    affine.addend.push_back(inputs[1][c] - inputs[2][c] * factor);
  }
  return affine;
}

/// Mul and Add by constants of the shape [C, 1, ...].
void SplitIntoMulAndAdd(Graph& graph, NodeId id, int axis, const ChannelAffine& affine) {
  const ValueId x = graph.node(id).inputs[0];
  const std::string name = graph.value(graph.node(id).outputs[0]).name;
  Shape shape{static_cast<int64_t>(affine.factor.size())};
  for (auto i = static_cast<size_t>(axis) + 1; i < graph.value(x).dims.size(); ++i) shape.Append(1);
  const DType dtype = graph.value(x).dtype;
  const ValueId factor = graph.AddConstant(name + ".factor", RoundedTo(dtype, shape, affine.factor));
  const ValueId addend = graph.AddConstant(name + ".addend", RoundedTo(dtype, shape, affine.addend));
  const ValueId product = EmitTyped(graph, OpCode::kMul, {x, factor}, ClampAttrs(), name + ".product", id);
  Become(graph, id, OpCode::kAdd, {product, addend}, ClampAttrs());
}

/// A picture of integers, of whose channels integers are made again.
bool IsAmongIntegers(const Graph& graph, NodeId id, int axis) {
  const Node& node = graph.node(id);
  const ValueId codes = DequantizedFrom(graph, node.inputs[0]);
  if (codes == kNoValue || graph.value(codes).dims.size() != 4 || axis != 3) return false;
  if (!graph.value(codes).quantization->per_tensor() || DTypeBits(graph.value(codes).dtype) != 8)
    return false;
  // A picture without pixels has no windows.
  const std::vector<Dim>& dims = graph.value(codes).dims;
  if (std::any_of(dims.begin() + 1, dims.end(), [](const Dim& dim) { return dim.bounds().min < 1; }))
    return false;
  const std::vector<Use>& uses = graph.value(node.outputs[0]).uses;
  const bool is_clamped = uses.size() == 1 && graph.node(uses[0].node).op == OpCode::kClamp;
  return QuantizedTo(graph, is_clamped ? graph.node(uses[0].node) : node).has_value();
}

/// Delegates compute that on integers: a convolution of one weight for each channel, whose scale carries all
/// of its digits.
void BecomeDepthwise(Graph& graph, NodeId id, const ChannelAffine& affine) {
  constexpr int8_t kCode = 64;  // A power of two: the scale rounds nothing.
  const auto channels = static_cast<int64_t>(affine.factor.size());
  const std::string name = graph.value(graph.node(id).outputs[0]).name;
  TensorData codes(DType::kI8, {channels, 1, 1, 1});
  std::vector<float> scales;
  float largest = 0;
  for (const double factor : affine.factor) {
    scales.push_back(static_cast<float>(std::abs(factor) / kCode));
    largest = std::max(largest, scales.back());
  }
  for (size_t c = 0; c < scales.size(); ++c) {
    const bool counts = std::isnormal(scales[c]);
    static_cast<int8_t*>(codes.mutable_data())[c] =
        static_cast<int8_t>(counts ? std::copysign(kCode, affine.factor[c]) : 0);
    // The unit of the addend alone: one that others have, since kernels take none that is larger than steps.
    if (!counts) scales[c] = std::isnormal(largest) ? largest : 1.0f / kCode;
  }
  const ValueId weights =
      graph.AddConstant(name + ".weights", codes.Quantized(PerAxis(0, std::move(scales))));
  const ValueId real =
      EmitTyped(graph, OpCode::kDequantize, {weights}, NoAttrs(), name + ".weights.real", id);
  const ValueId bias =
      graph.AddConstant(name + ".addend", RoundedTo(DType::kF32, Shape{channels}, affine.addend));
  Conv2dAttrs attrs;
  attrs.groups = channels;
  Become(graph, id, OpCode::kConv2d, {graph.node(id).inputs[0], real, bias}, attrs);
}

int64_t BytesOf(const Graph& graph, NodeId id, const ChannelAffine& affine) {
  return static_cast<int64_t>(affine.factor.size()) * DTypeSize(graph.value(graph.node(id).inputs[0]).dtype);
}

}  // namespace

void FoldBatchNorm(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    if (graph.node(id).op != OpCode::kBatchNorm) return;
    const auto rank = static_cast<int>(graph.value(graph.node(id).inputs[0]).dims.size());
    const int axis = NormalizeAxis(graph.node(id).As<NormAttrs>().axis, rank);
    if (!graph.value(graph.node(id).inputs[0]).dims[static_cast<size_t>(axis)].constant()) {
      // Mul and Add would broadcast an extent of 1, which is refused here.
      graph.Note(id, "not folded: the number of channels is open");
      return;
    }
    const std::optional<ChannelAffine> affine = ReadBatchNorm(graph, id);
    if (!affine) {
      graph.Note(id, "not folded: its statistics are not constant");
      return;
    }
    const DType dtype = graph.value(graph.node(id).inputs[0]).dtype;
    if (!AreFiniteIn(dtype, affine->factor) || !AreFiniteIn(dtype, affine->addend)) {
      graph.Note(id, "not folded: it would multiply by, or add, what its type cannot hold");
      return;
    }
    const NodeId producer = graph.ProducerOf(id, 0);
    const bool behind_linear = producer != kNoNode && IsLinear(graph.node(producer).op) && axis == rank - 1;
    std::string obstacle =
        behind_linear ? WhyNotRescalable(graph, producer) : "there is no convolution right before it";
    if (obstacle.empty()) obstacle = Rescale(graph, producer, *affine);
    if (obstacle.empty()) {
      graph.Note(id, "folded into the weights of '" + graph.node(producer).name + "'");
      TakeOver(graph, producer, id);
    } else if (!TakeFoldingBytes(graph, 2 * BytesOf(graph, id, *affine))) {
      graph.Note(id, "not folded: the constants would be too many");
    } else if (IsAmongIntegers(graph, id, axis)) {
      graph.Note(id, "became a depthwise Conv2d: integers come in and go out");
      BecomeDepthwise(graph, id, *affine);
    } else {
      graph.Note(id, "became Mul and Add: " + obstacle);
      SplitIntoMulAndAdd(graph, id, axis, *affine);
    }
  });
}

}  // namespace skiff
