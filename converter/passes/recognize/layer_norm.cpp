// LayerNorm out of its parts: d = x - mean(x), d / sqrt(mean(d * d) + epsilon), times scale, plus bias.
#include <algorithm>

#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/recognize/recognize.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr const char* kRecognised = "recognised as a part of LayerNorm";

/// Such a node without an activation of its own, which LayerNorm has none of.
NodeId PlainProducer(const Graph& graph, ValueId value, OpCode op) {
  const NodeId id = ProducerWith(graph, value, op);
  return id != kNoNode && HasActivation(graph.node(id)) ? kNoNode : id;
}

/// Whether numbers of `dtype` are none the worse for having been `through`.
bool Keeps(DType through, DType dtype) {
  return through == dtype || through == DType::kF64 || (through == DType::kF32 && dtype == DType::kF16);
}

/// What a Cast between float types was made from; not where it rounds more than results of `dtype` are.
ValueId BehindCasts(const Graph& graph, ValueId value, DType dtype) {
  NodeId cast = ProducerWith(graph, value, OpCode::kCast);
  while (cast != kNoNode && IsFloat(graph.value(graph.node(cast).inputs[0]).dtype) &&
         Keeps(graph.value(value).dtype, dtype)) {
    value = graph.node(cast).inputs[0];
    cast = ProducerWith(graph, value, OpCode::kCast);
  }
  return value;
}

/// A ReduceMean over the last axes that keeps them as 1: the first of these axes, else nothing.
std::optional<int64_t> TrailingMean(const Graph& graph, NodeId mean) {
  if (mean == kNoNode) return {};
  const auto& attrs = graph.node(mean).As<ReduceAttrs>();
  const auto rank = static_cast<int64_t>(graph.value(graph.node(mean).inputs[0]).dims.size());
  if (!attrs.keep_dims || attrs.axes.size == 0) return {};
  for (int64_t i = 0; i < attrs.axes.size; ++i) {
    if (attrs.axes[i] != rank - attrs.axes.size + i) return {};
  }
  return rank - attrs.axes.size;
}

struct Normalised {
  ValueId x = kNoValue;
  NormAttrs attrs;
};

/// Whether `d` is x - mean(x), of a layer norm of `dtype`; x and the axis then.
std::optional<Normalised> MatchCentred(const Graph& graph, ValueId d, DType dtype) {
  const NodeId sub = PlainProducer(graph, BehindCasts(graph, d, dtype), OpCode::kSub);
  if (sub == kNoNode) return {};
  const NodeId mean = PlainProducer(graph, graph.node(sub).inputs[1], OpCode::kReduceMean);
  const auto axis = TrailingMean(graph, mean);
  const ValueId x = graph.node(sub).inputs[0];
  if (!axis || BehindCasts(graph, graph.node(mean).inputs[0], dtype) != BehindCasts(graph, x, dtype))
    return {};
  return Normalised{x, {*axis, 0}};
}

/// Fills in epsilon when `deviation` is sqrt(mean(d * d) + epsilon) for the same x and axis.
bool MatchDeviation(const Graph& graph, ValueId deviation, Normalised& norm) {
  const DType dtype = graph.value(norm.x).dtype;
  const NodeId root = PlainProducer(graph, BehindCasts(graph, deviation, dtype), OpCode::kSqrt);
  if (root == kNoNode) return false;
  const NodeId add = PlainProducer(graph, graph.node(root).inputs[0], OpCode::kAdd);
  if (add == kNoNode) return false;
  const auto epsilon = ScalarConstant(graph, graph.node(add).inputs[1]);
  const NodeId mean =
      PlainProducer(graph, BehindCasts(graph, graph.node(add).inputs[0], dtype), OpCode::kReduceMean);
  if (!epsilon || TrailingMean(graph, mean) != norm.attrs.axis) return false;
  const NodeId square =
      PlainProducer(graph, BehindCasts(graph, graph.node(mean).inputs[0], dtype), OpCode::kMul);
  if (square == kNoNode) return false;
  for (ValueId factor : graph.node(square).inputs) {
    const auto centred = MatchCentred(graph, factor, dtype);
    if (!centred || centred->x != norm.x || centred->attrs.axis != norm.attrs.axis) return false;
  }
  norm.attrs.epsilon = static_cast<float>(*epsilon);
  // The attribute is an f32; what an f64 net has must fit.
  return dtype != DType::kF64 || static_cast<double>(norm.attrs.epsilon) == *epsilon;
}

/// d / deviation, or d times its reciprocal.
std::optional<Normalised> MatchNormalised(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if ((node.op != OpCode::kDiv && node.op != OpCode::kMul) || HasActivation(node)) return {};
  const DType dtype = graph.value(node.outputs[0]).dtype;
  for (size_t d = 0; d < (node.op == OpCode::kDiv ? 1u : 2u); ++d) {
    ValueId deviation = node.inputs[1 - d];
    if (node.op == OpCode::kMul) {
      const NodeId reciprocal =
          PlainProducer(graph, BehindCasts(graph, deviation, dtype), OpCode::kReciprocal);
      if (reciprocal == kNoNode) continue;
      deviation = graph.node(reciprocal).inputs[0];
    }
    std::optional<Normalised> norm = MatchCentred(graph, node.inputs[d], dtype);
    if (norm && SameType(graph, norm->x, node.outputs[0]) && MatchDeviation(graph, deviation, *norm))
      return norm;
  }
  return {};
}

/// The extents that are normalised.
Shape NormalisedShape(const Graph& graph, const Normalised& norm) {
  Shape shape;
  const std::vector<Dim>& dims = graph.value(norm.x).dims;
  for (auto axis = static_cast<size_t>(norm.attrs.axis); axis < dims.size(); ++axis)
    shape.Append(dims[axis].value);
  return shape;
}

/// The only user of `value`, when it is `op` with a factor of the wanted shape (or a constant with leading
/// ones more). `factor` is set to that.
NodeId UserWithFactor(Graph& graph, ValueId value, OpCode op, const Shape& wanted, ValueId* factor) {
  const NodeId user = graph.OnlyUser(value);
  if (user == kNoNode || graph.node(user).op != op || HasActivation(graph.node(user))) return kNoNode;
  const ValueId other = graph.node(user).inputs[graph.node(user).inputs[0] == value ? 1 : 0];
  if (!graph.value(other).has_static_shape()) return kNoNode;
  const Shape shape = graph.value(other).shape();
  if (shape == wanted) {
    *factor = other;
    return user;
  }
  const int extra = shape.rank() - wanted.rank();
  const bool fits =
      extra > 0 && graph.value(other).constant && SameType(graph, graph.node(user).outputs[0], value) &&
      shape.ElementsBetween(0, extra) == 1 && std::equal(wanted.begin(), wanted.end(), shape.begin() + extra);
  if (!fits) return kNoNode;
  *factor =
      graph.AddConstant(graph.value(other).name + ".vector", graph.value(other).constant->Reshaped(wanted));
  return user;
}

/// Known extents, and so few elements that a scale for each may be made.
bool NormalisesKnownExtents(const Graph& graph, const Normalised& norm) {
  constexpr int64_t kMostScales = int64_t{1} << 24;
  const std::vector<Dim>& dims = graph.value(norm.x).dims;
  return std::all_of(dims.begin() + norm.attrs.axis, dims.end(),
                     [](const Dim& dim) { return dim.constant(); }) &&
         NormalisedShape(graph, norm).elements() <= kMostScales;
}

void Rewrite(Graph& graph, NodeId id, const Normalised& norm) {
  const Shape shape = NormalisedShape(graph, norm);
  const DType dtype = graph.value(norm.x).dtype;
  NodeId last = id;
  ValueId scale = kNoValue;
  ValueId bias = kNoValue;
  if (const NodeId mul = UserWithFactor(graph, graph.node(id).outputs[0], OpCode::kMul, shape, &scale);
      mul != kNoNode)
    last = mul;
  if (const NodeId add = UserWithFactor(graph, graph.node(last).outputs[0], OpCode::kAdd, shape, &bias);
      add != kNoNode)
    last = add;
  if (scale == kNoValue) {
    if (!TakeFoldingBytes(graph, ElementBytes(dtype, shape.elements()))) {
      graph.Note(id, "not a LayerNorm: the scales would be too many");
      return;
    }
    const std::vector<double> ones(static_cast<size_t>(shape.elements()), 1.0);
    scale = graph.AddConstant(graph.value(graph.node(id).outputs[0]).name + ".scale",
                              RoundedTo(dtype, shape, ones));
  }
  std::vector<ValueId> inputs = {norm.x, scale};
  if (bias != kNoValue) inputs.push_back(bias);
  Become(graph, last, OpCode::kLayerNorm, inputs, norm.attrs);
  graph.Note(last, kRecognised);
}

}  // namespace

void RecognizeLayerNorm(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    const auto norm = MatchNormalised(graph, id);
    if (norm && NormalisesKnownExtents(graph, *norm)) Rewrite(graph, id, *norm);
  });
}

}  // namespace skiff
