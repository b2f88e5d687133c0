// BatchNorm with constant statistics is y * a + b per channel.
#include <cmath>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/folding_budget.h"
#include "passes/fuse/linear.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Nothing where an input is not constant, or no budget is left to look at it.
std::optional<ChannelAffine> ReadBatchNorm(Graph& graph, NodeId id) {
  std::vector<double> inputs[4];  // Scale, bias, mean, variance.
  for (int i = 0; i < 4; ++i) {
    const TensorData* data = graph.ConstantInput(id, i + 1);
    if (data == nullptr) return {};
    std::optional<std::vector<double>> numbers = TakeNumbers(graph, *data);
    if (!numbers) return {};
    inputs[i] = *std::move(numbers);
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

int64_t BytesOf(const Graph& graph, NodeId id, const ChannelAffine& affine) {
  return static_cast<int64_t>(affine.factor.size()) * DTypeSize(graph.value(graph.node(id).inputs[0]).dtype);
}

}  // namespace

void FoldBatchNorm(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    if (graph.node(id).op != OpCode::kBatchNorm) return;
    const std::optional<ChannelAffine> affine = ReadBatchNorm(graph, id);
    if (!affine) {
      graph.Note(id, "not folded: its statistics are not constant");
      return;
    }
    if (!AreFiniteIn(graph.value(graph.node(id).inputs[0]).dtype, affine->factor)) {
      graph.Note(id, "not folded: it would multiply by what its type cannot hold");
      return;
    }
    const auto rank = static_cast<int>(graph.value(graph.node(id).inputs[0]).dims.size());
    const int axis = NormalizeAxis(graph.node(id).As<NormAttrs>().axis, rank);
    if (!graph.value(graph.node(id).inputs[0]).dims[static_cast<size_t>(axis)].constant()) {
      // Mul and Add would broadcast an extent of 1, which is refused here.
      graph.Note(id, "not folded: the number of channels is open");
      return;
    }
    const NodeId producer = graph.ProducerOf(id, 0);
    const bool behind_linear = producer != kNoNode && IsLinear(graph.node(producer).op) && axis == rank - 1;
    const std::string obstacle =
        behind_linear ? WhyNotRescalable(graph, producer) : "there is no convolution right before it";
    if (obstacle.empty() && Rescale(graph, producer, *affine)) {
      graph.Note(id, "folded into the weights of '" + graph.node(producer).name + "'");
      TakeOver(graph, producer, id);
    } else if (TakeFoldingBytes(graph, 2 * BytesOf(graph, id, *affine))) {
      graph.Note(id, "became Mul and Add: " + obstacle);
      SplitIntoMulAndAdd(graph, id, axis, *affine);
    }
  });
}

}  // namespace skiff
