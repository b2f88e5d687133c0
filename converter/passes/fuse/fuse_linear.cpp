// Products with constant weights, and what is multiplied or added to them per output channel.
#include <algorithm>

#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/fuse/linear.h"
#include "passes/fuse/merge_sum.h"
#include "passes/release_constants.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Tile by tile: of a large matrix a row's elements lie in as many cache lines of the result.
template <class T>
void TransposeInto(const TensorData& data, TensorData& result) {
  constexpr int64_t kTile = 32;
  const int64_t rows = data.shape()[0];
  const int64_t columns = data.shape()[1];
  const T* from = static_cast<const T*>(data.data());
  T* to = static_cast<T*>(result.mutable_data());
  for (int64_t row = 0; row < rows; row += kTile) {
    for (int64_t column = 0; column < columns; column += kTile) {
      for (int64_t c = column; c < std::min(column + kTile, columns); ++c) {
        for (int64_t r = row; r < std::min(row + kTile, rows); ++r) to[c * rows + r] = from[r * columns + c];
      }
    }
  }
}

TensorData Transposed(const TensorData& data) {
  TensorData result(data.dtype(), Shape{data.shape()[1], data.shape()[0]});
  switch (DTypeSize(data.dtype())) {
    case 2:
      TransposeInto<uint16_t>(data, result);
      break;
    case 4:
      TransposeInto<uint32_t>(data, result);
      break;
    default:
      TransposeInto<uint64_t>(data, result);
  }
  return result;
}

/// MatMul by a constant matrix: a FullyConnected with weights [outputs, inputs].
void MatMulToFullyConnected(Graph& graph, NodeId id) {
  const TensorData* matrix = graph.ConstantInput(id, 1);
  const ValueId x = graph.node(id).inputs[0];
  if (matrix == nullptr || !IsFloat(matrix->dtype()) || graph.value(x).constant) return;
  const int rank = matrix->shape().rank();
  if (rank < 2 || matrix->shape().ElementsBetween(0, rank - 2) != 1 ||
      graph.value(x).dims.size() < static_cast<size_t>(rank - 1))
    return;
  if (rank > 2 && graph.value(x).dims.size() < static_cast<size_t>(rank)) return;
  const MatMulAttrs attrs = graph.node(id).As<MatMulAttrs>();
  if (!attrs.transpose_b && !TakeFoldingCopy(graph, graph.node(id).inputs[1])) {
    graph.Note(id, "not FullyConnected: too many products share one constant");
    return;
  }
  const std::string name = graph.value(graph.node(id).inputs[1]).name;
  const TensorData flat = matrix->Reshaped(Shape{matrix->shape()[rank - 2], matrix->shape()[rank - 1]});
  const ValueId weights = graph.AddConstant(name + ".weights", attrs.transpose_b ? flat : Transposed(flat));
  const ValueId before = graph.node(id).inputs[1];
  Become(graph, id, OpCode::kFullyConnected, {x, weights}, ClampAttrs{attrs.min, attrs.max});
  // Not at the end of the pass: large nets would be in memory twice.
  ReleaseIfUnused(graph, before);
  graph.Note(id, "became FullyConnected: one factor is constant");
}

/// The input that is not a constant, kNoValue when that is not exactly one.
ValueId VariableOperand(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() == 1) return node.inputs[0];
  if (graph.value(node.inputs[1]).constant) return node.inputs[0];
  return graph.value(node.inputs[0]).constant && node.op != OpCode::kDiv ? node.inputs[1] : kNoValue;
}

/// What Neg, or Mul, Div or Add with a constant, does to each channel of y; nothing when channels are not all
/// it knows.
std::optional<ChannelAffine> ReadAffine(Graph& graph, NodeId id, ValueId y) {
  const Node& node = graph.node(id);
  const Dim& last = graph.value(y).dims.back();
  if (!last.constant()) return {};
  const auto channels = static_cast<size_t>(last.value);
  ChannelAffine affine{std::vector<double>(channels, 1.0), std::vector<double>(channels, 0.0)};
  if (node.op == OpCode::kNeg) {
    affine.factor.assign(channels, -1.0);
    return affine;
  }
  const auto numbers =
      PerChannel(graph, node.inputs[node.inputs[0] == y ? 1 : 0], static_cast<int64_t>(channels));
  if (!numbers || !SameType(graph, y, node.outputs[0])) return {};
  for (size_t i = 0; i < channels; ++i) {
    if (node.op == OpCode::kAdd) affine.addend[i] = (*numbers)[i];
    if (node.op == OpCode::kMul) affine.factor[i] = (*numbers)[i];
    if (node.op == OpCode::kDiv) affine.factor[i] = 1 / (*numbers)[i];
  }
  return affine;
}

/// Divisions by 0, and by what has no reciprocal with all its digits, are left alone.
bool CanMultiply(DType dtype, OpCode op, const std::vector<double>& factors) {
  if (op != OpCode::kDiv) return AreFiniteIn(dtype, factors);
  return std::all_of(factors.begin(), factors.end(),
                     [&](double factor) { return IsNormalIn(dtype, factor); });
}

/// Neg, and Mul, Div or Add with a constant, right behind a linear operator.
void FoldIntoLinear(Graph& graph, NodeId id) {
  const ValueId y = VariableOperand(graph, id);
  const NodeId linear = y == kNoValue ? kNoNode : graph.value(y).producer;
  if (linear == kNoNode || !IsLinear(graph.node(linear).op)) return;
  const std::string name = graph.node(linear).name;
  if (const std::string obstacle = WhyNotRescalable(graph, linear); !obstacle.empty()) {
    graph.Note(id, "not fused: " + obstacle);
    return;
  }
  // Numbers per channel are made even where the constant is one: their count is the weights', which many
  // operators may share.
  const Dim& channels = graph.value(y).dims.back();
  if (channels.constant() && !TakeNumberWork(graph, channels.value)) {
    graph.Note(id, std::string("not fused: ") + kTooMuchWork);
    return;
  }
  const std::optional<ChannelAffine> affine = ReadAffine(graph, id, y);
  if (!affine) {
    graph.Note(id, "not fused: it does not have one constant per output channel of '" + name + "'");
    return;
  }
  if (!CanMultiply(graph.value(y).dtype, graph.node(id).op, affine->factor)) {
    graph.Note(id, "not fused: it would multiply weights by what their type cannot hold");
    return;
  }
  const ClampAttrs clamp = FusedClamp(graph.node(id));
  if (const std::string obstacle = Rescale(graph, linear, *affine); !obstacle.empty()) {
    graph.Note(id, "not fused: " + obstacle);
    return;
  }
  graph.Note(id, "folded into the weights or bias of '" + name + "'");
  TakeOver(graph, linear, id);
  SetFusedClamp(graph.node(linear), clamp);
}

}  // namespace

void FuseLinear(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    switch (graph.node(id).op) {
      case OpCode::kMatMul:
        MatMulToFullyConnected(graph, id);
        break;
      case OpCode::kAdd:
        if (!MergeSumOfConvolutions(graph, id)) FoldIntoLinear(graph, id);
        break;
      case OpCode::kSub:
        MergeSumOfConvolutions(graph, id);
        break;
      case OpCode::kDiv:
      case OpCode::kMul:
      case OpCode::kNeg:
        FoldIntoLinear(graph, id);
        break;
      default:
        break;
    }
  });
}

}  // namespace skiff
