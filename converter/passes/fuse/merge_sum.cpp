#include "passes/fuse/merge_sum.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/prefix.h"
#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/fuse/linear.h"
#include "passes/release_constants.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// The convolution that makes `value` for one user, where its weights may change.
NodeId ConvolutionOf(const Graph& graph, ValueId value) {
  const NodeId id = ProducerWith(graph, value, OpCode::kConv2d);
  if (id == kNoNode || !WhyNotRescalable(graph, id).empty() || graph.ConstantInput(id, 1) == nullptr)
    return kNoNode;
  return graph.node(id).As<Conv2dAttrs>().auto_pad == AutoPad::kExplicit ? id : kNoNode;
}

const Shape& WeightsOf(const Graph& graph, NodeId id) {
  return graph.value(graph.node(id).inputs[1])
      .constant->shape();  // [outputs, rows, columns, inputs of a group]
}

int64_t TapsOf(const Shape& weights) { return weights[1] * weights[2]; }

/// Windows that begin so far before an output's own pixel, and have a tap every `step` pixels.
struct Places {
  int64_t before;
  int64_t step;
  int64_t taps;

  static Places Of(const Graph& graph, NodeId id, int axis) {
    const auto& attrs = graph.node(id).As<Conv2dAttrs>();
    return {attrs.pads[axis], attrs.dilations[axis], WeightsOf(graph, id)[1 + axis]};
  }
  /// The tap that lies at the same pixel as tap `i` of the other ones.
  std::optional<int64_t> TapAt(const Places& other, int64_t i) const {
    const int64_t distance = i * other.step - other.before + before;
    if (distance < 0 || distance % step != 0 || distance / step >= taps) return {};
    return distance / step;
  }
};

/// The weights of a convolution and others. The signs are those of the terms: 1 or -1.
class Sum {
 public:
  struct Signs {
    double own;
    double other;
  };

  Sum(Graph& graph, NodeId id, const Signs& signs)
      : graph_(graph), id_(id), signs_(signs), shape_(WeightsOf(graph, id)) {}

  /// False where there is no budget for it.
  bool Begin() {
    const ValueId weights = graph_.node(id_).inputs[1];
    const ValueId bias = InputOf(graph_, id_, 2);
    if (!TakeFoldingCopy(graph_, weights)) return false;
    auto numbers = TakeNumbers(graph_, *graph_.value(weights).constant);
    if (!numbers || !TakeFoldingBytes(graph_, shape_[0] * DTypeSize(graph_.value(weights).dtype)))
      return false;
    weights_ = *std::move(numbers);
    bias_ = bias == kNoValue ? std::vector<double>(static_cast<size_t>(shape_[0]))
                             : graph_.value(bias).constant->ToDoubles();
    for (double& weight : weights_) weight *= signs_.own;
    for (double& number : bias_) number *= signs_.own;
    return true;
  }

  void AddBias(const std::vector<double>& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) bias_[i] += signs_.other * numbers[i];
  }
  void AddWeight(int64_t output, int64_t row, int64_t column, int64_t input, double weight) {
    const int64_t at = ((output * shape_[1] + row) * shape_[2] + column) * shape_[3] + input;
    weights_[static_cast<size_t>(at)] += signs_.other * weight;
  }

  /// False, and nothing happens, where the type cannot hold the sums.
  bool Finish() {
    const ValueId before[2] = {graph_.node(id_).inputs[1], InputOf(graph_, id_, 2)};
    const DType dtype = graph_.value(before[0]).dtype;
    if (!AreFiniteIn(dtype, weights_) || !AreFiniteIn(dtype, bias_)) return false;
    const std::string base = PrefixOf(graph_.value(before[0]).name);
    graph_.SetInput(id_, 1, graph_.AddConstant(base + ".merged", RoundedTo(dtype, shape_, weights_)));
    const bool has_bias = std::any_of(bias_.begin(), bias_.end(), [](double number) { return number != 0; });
    if (has_bias || before[1] != kNoValue)
      graph_.SetInput(id_, 2, graph_.AddConstant(base + ".bias", RoundedTo(dtype, Shape{shape_[0]}, bias_)));
    for (const ValueId value : before) {
      if (value != kNoValue) ReleaseIfUnused(graph_, value);
    }
    return true;
  }

 private:
  Graph& graph_;
  const NodeId id_;
  const Signs signs_;
  const Shape shape_;
  std::vector<double> weights_;
  std::vector<double> bias_;
};

/// `other` has taps where `id` has some.
bool AddConvolution(Graph& graph, NodeId id, NodeId other, const Sum::Signs& signs) {
  const auto& attrs = graph.node(id).As<Conv2dAttrs>();
  const auto& others = graph.node(other).As<Conv2dAttrs>();
  if (graph.node(id).inputs[0] != graph.node(other).inputs[0]) return false;
  if (attrs.groups != others.groups || attrs.strides[0] != others.strides[0] ||
      attrs.strides[1] != others.strides[1])
    return false;
  const Shape from = WeightsOf(graph, other);
  // An open number of channels suits any weights.
  if (from[0] != WeightsOf(graph, id)[0] || from[3] != WeightsOf(graph, id)[3]) return false;
  std::vector<int64_t> taps[2];
  for (int axis = 0; axis < 2; ++axis) {
    const Places places = Places::Of(graph, id, axis);
    for (int64_t i = 0; i < from[1 + axis]; ++i) {
      const auto tap = places.TapAt(Places::Of(graph, other, axis), i);
      if (!tap) return false;
      taps[axis].push_back(*tap);
    }
  }
  const auto numbers = TakeNumbers(graph, *graph.value(graph.node(other).inputs[1]).constant);
  Sum sum(graph, id, signs);
  if (!numbers || !sum.Begin()) return false;
  size_t at = 0;
  for (int64_t output = 0; output < from[0]; ++output) {
    for (const int64_t row : taps[0]) {
      for (const int64_t column : taps[1]) {
        for (int64_t input = 0; input < from[3]; ++input)
          sum.AddWeight(output, row, column, input, (*numbers)[at++]);
      }
    }
  }
  if (const ValueId bias = InputOf(graph, other, 2); bias != kNoValue)
    sum.AddBias(graph.value(bias).constant->ToDoubles());
  return sum.Finish();
}

/// `value` as `x` times a number, plus another, of each channel; nothing where it is something else, or other
/// nodes read what lies between.
std::optional<ChannelAffine> ScaledChannels(Graph& graph, ValueId value, ValueId x, int64_t channels) {
  if (!TakeNumberWork(graph, channels)) return {};
  const auto count = static_cast<size_t>(channels);
  ChannelAffine affine{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
  for (const OpCode op : {OpCode::kAdd, OpCode::kMul}) {
    const NodeId id = ProducerWith(graph, value, op);
    if (id == kNoNode || value == x) continue;
    const ClampAttrs clamp = FusedClamp(graph.node(id));
    if (!IsUnbounded(clamp.min, clamp.max) || graph.OnlyUser(value) == kNoNode) return {};
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    const size_t constant = graph.value(inputs[0]).constant ? 0 : 1;
    auto numbers = PerChannel(graph, inputs[constant], channels);
    if (!numbers) return {};
    (op == OpCode::kAdd ? affine.addend : affine.factor) = *std::move(numbers);
    value = inputs[1 - constant];
  }
  return value == x ? std::optional(affine) : std::nullopt;
}

/// The picture itself, as windows of the pixel in their place.
bool AddOwnChannels(Graph& graph, NodeId id, ValueId value, const Sum::Signs& signs) {
  const auto& attrs = graph.node(id).As<Conv2dAttrs>();
  const ValueId x = graph.node(id).inputs[0];
  const Shape weights = WeightsOf(graph, id);
  if (!SameType(graph, x, graph.node(id).outputs[0]) || attrs.strides[0] != 1 || attrs.strides[1] != 1)
    return false;
  // Kernels add a residual for nothing, and exactly; but to depthwise windows it is one tap among others.
  if (value == x && attrs.groups != weights[0]) return false;
  std::optional<int64_t> taps[2];
  for (int axis = 0; axis < 2; ++axis) {
    taps[axis] = Places::Of(graph, id, axis).TapAt({0, 1, 1}, 0);
    if (!taps[axis]) return false;
  }
  const auto affine = ScaledChannels(graph, value, x, weights[0]);
  Sum sum(graph, id, signs);
  if (!affine || !sum.Begin()) return false;
  for (int64_t output = 0; output < weights[0]; ++output)
    sum.AddWeight(output, *taps[0], *taps[1], output % weights[3],
                  affine->factor[static_cast<size_t>(output)]);
  sum.AddBias(affine->addend);
  return sum.Finish();
}

}  // namespace

bool MergeSumOfConvolutions(Graph& graph, NodeId id) {
  const std::vector<ValueId> terms = graph.node(id).inputs;
  if (terms[0] == terms[1] || !SameType(graph, terms[0], terms[1])) return false;
  const NodeId convolutions[2] = {ConvolutionOf(graph, terms[0]), ConvolutionOf(graph, terms[1])};
  const bool both = convolutions[0] != kNoNode && convolutions[1] != kNoNode;
  size_t kept = convolutions[0] != kNoNode ? 0 : 1;
  if (both && TapsOf(WeightsOf(graph, convolutions[1])) > TapsOf(WeightsOf(graph, convolutions[0]))) kept = 1;
  const NodeId into = convolutions[kept];
  if (into == kNoNode) return false;
  const ValueId term = terms[1 - kept];
  const double signs[2] = {1, graph.node(id).op == OpCode::kSub ? -1.0 : 1.0};
  const Sum::Signs of = {signs[kept], signs[1 - kept]};
  const bool merged =
      both ? AddConvolution(graph, into, convolutions[1 - kept], of) : AddOwnChannels(graph, into, term, of);
  if (!merged) return false;
  const ClampAttrs clamp = FusedClamp(graph.node(id));
  graph.Note(id, "merged into the weights of '" + graph.node(into).name + "'");
  graph.SetInput(id, static_cast<int>(1 - kept), terms[kept]);
  RemoveIfUnused(graph, graph.value(term).producer, into);
  TakeOver(graph, into, id);
  SetFusedClamp(graph.node(into), clamp);
  return true;
}

}  // namespace skiff
