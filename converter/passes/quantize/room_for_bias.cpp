#include "passes/quantize/room_for_bias.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/prefix.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/folding_budget.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr double kMostUnits = 1 << 30;
constexpr int kMostDoublings = 30;

/// Constant codes of 8 bits without zero points, one scale for each output, of nobody else.
bool AreWeights(const Graph& graph, ValueId id) {
  const Value& weights = graph.value(id);
  if (!weights.constant || !weights.quantization || graph.OnlyUser(id) == kNoNode) return false;
  return weights.dtype == DType::kI8 && !weights.quantization->per_tensor() &&
         weights.quantization->axis == 0 && weights.quantization->block == 0 &&
         HasZeroPoint(*weights.quantization, 0);
}

/// How often the unit of each output has to be doubled until it holds the bias.
std::vector<int> DoublingsFor(const std::vector<double>& bias, const Quantization& x,
                              const Quantization& weights) {
  std::vector<int> doublings;
  for (size_t i = 0; i < bias.size(); ++i) {
    const double unit =
        static_cast<double>(x.scale) * static_cast<double>(weights.ScaleAt(static_cast<int64_t>(i)));
    const double beyond = std::abs(bias[i]) / unit / kMostUnits;
    const bool counts = beyond > 1 && std::isfinite(beyond);
    doublings.push_back(counts ? std::min(static_cast<int>(std::ceil(std::log2(beyond))), kMostDoublings)
                               : 0);
  }
  return doublings;
}

std::vector<float> RaisedScales(const Quantization& from, const std::vector<int>& doublings) {
  std::vector<float> scales(from.scales, from.scales + from.count);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = std::ldexp(scales[i], doublings[i]);
  return scales;
}

/// The codes of each output in the larger units.
template <class T>
TensorData Raised(const TensorData& from, const std::vector<int>& doublings) {
  const Quantization& before = *from.quantization();
  TensorData raised(from.dtype(), from.shape());
  const int64_t of_output = from.elements() / before.count;
  for (int64_t i = 0; i < from.elements(); ++i) {
    const double code = std::ldexp(from.as<T>()[i], -doublings[static_cast<size_t>(i / of_output)]);
    static_cast<T*>(raised.mutable_data())[i] = static_cast<T>(std::nearbyint(code));
  }
  return raised.Quantized(PerAxis(before.axis, RaisedScales(before, doublings)));
}

template <class T>
void Raise(Graph& graph, NodeId id, int input, const std::vector<int>& doublings) {
  const Value& value = graph.value(graph.node(id).inputs[static_cast<size_t>(input)]);
  const std::string name = PrefixOf(value.name) + ".raised";
  graph.SetInput(id, input, graph.AddConstant(name, Raised<T>(*value.constant, doublings)));
}

/// Whether a bias of nobody else has the units of the products.
bool IsInUnits(const Graph& graph, ValueId id, const Quantization& x, const Quantization& weights) {
  const Value& bias = graph.value(id);
  if (bias.dtype != DType::kI32 || !bias.quantization || graph.OnlyUser(id) == kNoNode) return false;
  const Quantization& own = *bias.quantization;
  if (own.per_tensor() || own.count != weights.count || !HasZeroPoint(own, 0)) return false;
  for (int64_t i = 0; i < own.count; ++i) {
    if (own.ScaleAt(i) !=
        static_cast<float>(static_cast<double>(x.scale) * static_cast<double>(weights.ScaleAt(i))))
      return false;
  }
  return true;
}

}  // namespace

void LeaveRoomForBias(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != OpCode::kConv2d && node.op != OpCode::kFullyConnected) return;
  const ValueId bias = InputOf(graph, id, 2);
  const QuantizationPtr x = graph.value(node.inputs[0]).quantization;
  if (bias == kNoValue || !x || !x->per_tensor() || !AreWeights(graph, node.inputs[1])) return;
  const Quantization& weights = *graph.value(node.inputs[1]).quantization;
  if (!graph.value(bias).constant) return;
  const auto numbers = TakeNumbers(graph, *graph.value(bias).constant);
  if (!numbers || std::cmp_not_equal(numbers->size(), weights.count)) return;
  const std::vector<int> doublings = DoublingsFor(*numbers, *x, weights);
  const bool fits = std::all_of(doublings.begin(), doublings.end(), [](int count) { return count == 0; });
  const std::vector<float> scales = RaisedScales(weights, doublings);
  const bool holds =
      std::all_of(scales.begin(), scales.end(), [](float scale) { return std::isfinite(scale); });
  if (fits || !holds || !TakeFoldingCopy(graph, node.inputs[1])) return;
  graph.Note(id,
             "channels with a large bias have weights in larger units: 32 bits hold it beside the products");
  // Others than these are converted when the model is opened.
  const bool raises_bias = IsInUnits(graph, bias, *x, weights);
  Raise<int8_t>(graph, id, 1, doublings);
  if (raises_bias) Raise<int32_t>(graph, id, 2, doublings);
}

}  // namespace skiff
