#include "quantize/rounded_layers.h"

#include <algorithm>

#include "files/tensor_files.h"
#include "ops/op_codes.h"
#include "quantize/fast_net.h"
#include "quantize/input_moments.h"
#include "quantize/round_by_effect.h"

namespace skiff {
namespace {

constexpr size_t kWeights = 1;
/// What moments of layers may take that are gathered in the same runs.
constexpr double kMostBytes = 0x1p30;
/// A channel with more weights is rounded to the nearest codes.
constexpr double kMostWeights = 4608;
/// Steps for the factors of all layers together, and more of them for each weight. Nets spend a third of the
/// latter at most: only layers of long channels, and of few of these, need the former.
constexpr double kSteps = 0x1p38;
constexpr double kStepsOfWeight = 0x1p17;

const TensorData& WeightsOf(const Graph& graph, NodeId node) {
  return *graph.value(graph.node(node).inputs[kWeights]).constant;
}

std::vector<NodeId> ProductsOf(const Graph& graph, const FormatPlan& plan) {
  std::vector<NodeId> products;
  for (const auto& [id, format] : plan) {
    const Node& node = graph.node(id);
    if (format == Format::kF16 || (node.op != OpCode::kConv2d && node.op != OpCode::kFullyConnected))
      continue;
    const Value& weights = graph.value(node.inputs[kWeights]);
    const bool has_input =
        graph.value(node.inputs[0]).dtype == DType::kF32 && !graph.value(node.inputs[0]).constant.has_value();
    if (has_input && weights.constant && weights.dtype == DType::kF32 && weights.uses.size() == 1 &&
        weights.constant->elements() > 0)
      products.push_back(id);
  }
  return products;
}

/// What products of pairs take of what a layer's weights meet.
struct Pairs {
  Pairs(const Node& node, const Shape& weights) {
    const double row = static_cast<double>(weights.elements()) / static_cast<double>(weights[0]);
    const double groups = node.op == OpCode::kConv2d ? static_cast<double>(node.As<Conv2dAttrs>().groups) : 1;
    bytes = groups * row * row * sizeof(double);
    steps = groups * row * row * row;
    few = row <= kMostWeights && bytes <= kMostBytes;
  }
  double bytes = 0;
  double steps = 0;  ///< Of UpperFactor().
  bool few = false;
};

/// Rows of all calls that tell of the layers' inputs, and the layers in the order of `nodes`.
std::vector<InputMoments> Gather(const Graph& graph, const std::vector<NodeId>& nodes,
                                 const std::set<NodeId>& by_effect, const std::vector<NamedTensors>& calls,
                                 int threads, const std::function<void(const std::string& step)>& progress) {
  std::vector<InputMoments> moments;
  std::vector<ValueId> values;
  for (const NodeId node : nodes) {
    moments.emplace_back(graph.node(node), WeightsOf(graph, node).shape(), static_cast<int64_t>(calls.size()),
                         by_effect.contains(node));
    values.push_back(graph.node(node).inputs[0]);
  }
  std::vector<ValueId> wanted = values;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  FastNet net(graph, wanted, threads);
  for (size_t call = 0; call < calls.size(); ++call) {
    if (progress) progress(fmt::format("see what weights meet, {} of {}", call + 1, calls.size()));
    net.Run(calls[call], [&](size_t at, const TensorView& view) {
      const TensorData dense = DenseCopy(view);
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (values[i] == wanted[at]) moments[i].Add(dense.view());
      }
    });
  }
  return moments;
}

std::vector<double> Lacks(const TensorData& weights, const TensorData& codes, const InputMoments& moments) {
  const std::vector<double> means = moments.Means();
  const std::vector<double> rounded = codes.ToDoubles();
  const int64_t channels = weights.shape()[0];
  const int64_t row = moments.row();
  std::vector<double> lacks(static_cast<size_t>(channels), 0);
  for (int64_t c = 0; c < channels; ++c) {
    const double* mean = means.data() + c / (channels / moments.groups()) * row;
    for (int64_t i = 0; i < row; ++i) {
      const auto at = static_cast<size_t>(c * row + i);
      lacks[static_cast<size_t>(c)] += (static_cast<double>(weights.as<float>()[at]) - rounded[at]) * mean[i];
    }
  }
  return lacks;
}

RoundedWeights Round(const TensorData& weights, int bits, InputMoments& moments,
                     const WeightOptions& options) {
  const bool by_effect = moments.has_products();
  std::vector<double> importance;
  if (by_effect) importance = ImportanceOf(moments, weights.shape()[0], options.correct_bias);
  const WeightGrid grid = bits == 4 ? GridOfFourBits(weights, options.block, importance)
                                    : GridPerChannel(weights, options.scales, {}, importance);
  RoundedWeights rounded;
  rounded.codes =
      by_effect ? CodesByEffect(weights, grid, moments, options.correct_bias) : NearestCodes(weights, grid);
  if (options.correct_bias) rounded.lacks = Lacks(weights, rounded.codes, moments);
  return rounded;
}

}  // namespace

int BitsOfWeights(Format format, const Shape& weights, int64_t block) {
  return HasFourBits(format) && weights[weights.rank() - 1] >= block ? 4 : 8;
}

std::set<NodeId> LayersByEffect(const Graph& graph, const std::vector<NodeId>& products) {
  double left = kSteps;
  for (const NodeId node : products)
    left += kStepsOfWeight * static_cast<double>(WeightsOf(graph, node).elements());
  std::set<NodeId> chosen;
  for (const NodeId node : products) {
    const Pairs pairs(graph.node(node), WeightsOf(graph, node).shape());
    if (!pairs.few || pairs.steps > left) continue;
    left -= pairs.steps;
    chosen.insert(node);
  }
  return chosen;
}

RoundedLayers RoundLayers(const Graph& graph, const FormatPlan& plan, const std::vector<NamedTensors>& calls,
                          const WeightOptions& options, int threads,
                          const std::function<void(const std::string& step)>& progress) {
  RoundedLayers rounded;
  const std::vector<NodeId> products = ProductsOf(graph, plan);
  std::set<NodeId> by_effect;
  if (options.rounding == WeightRounding::kByEffect) by_effect = LayersByEffect(graph, products);
  for (size_t from = 0; from < products.size();) {
    std::vector<NodeId> nodes;
    double bytes = 0;
    for (; from < products.size(); ++from) {
      const NodeId node = products[from];
      if (by_effect.contains(node)) bytes += Pairs(graph.node(node), WeightsOf(graph, node).shape()).bytes;
      if (!nodes.empty() && bytes > kMostBytes) break;
      nodes.push_back(node);
    }
    std::vector<InputMoments> moments = Gather(graph, nodes, by_effect, calls, threads, progress);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (progress) progress(fmt::format("round weights, {} of {}", rounded.size() + 1, products.size()));
      const TensorData& weights = WeightsOf(graph, nodes[i]);
      const int bits = BitsOfWeights(plan.at(nodes[i]), weights.shape(), options.block);
      rounded[{nodes[i], bits}] = Round(weights, bits, moments[i], options);
    }
  }
  return rounded;
}

}  // namespace skiff
