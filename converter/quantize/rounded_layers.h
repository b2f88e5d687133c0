/// The weights of a net's products as codes, chosen by the inputs that calibrate.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "quantize/layers.h"
#include "quantize/weights.h"
#include "run/opened_model.h"

namespace skiff {

enum class WeightRounding {
  kNearest,
  kByEffect,  ///< On the layer's result (quantize/round_by_effect.h).
};

struct WeightOptions {
  WeightScales scales = WeightScales::kLeastSquares;
  WeightRounding rounding = WeightRounding::kByEffect;
  /// What rounded weights add to a product on average goes into its bias (Nagel et al., 2019).
  bool correct_bias = true;
  int64_t block = kFourBitBlock;
};

/// Of the weights of a product in a format. A channel of a depthwise convolution has too few of them for
/// four.
int BitsOfWeights(Format format, const Shape& weights, int64_t block);

struct RoundedWeights {
  TensorData codes;
  /// What each channel of the result lacks on average.
  std::vector<double> lacks;
};

/// By node and bits.
using RoundedLayers = std::map<std::pair<NodeId, int>, RoundedWeights>;

/// The products whose weights are rounded by their effect, where that is asked for: all but those whose
/// channels are so long that it would take much memory or time, for the few weights that they have.
std::set<NodeId> LayersByEffect(const Graph& graph, const std::vector<NodeId>& products);

/// Those of the plan: convolutions and FullyConnected whose weights no other node reads. `threads`,
/// `progress` as QuantizeOptions have them.
RoundedLayers RoundLayers(const Graph& graph, const FormatPlan& plan, const std::vector<NamedTensors>& calls,
                          const WeightOptions& options, int threads,
                          const std::function<void(const std::string& step)>& progress);

}  // namespace skiff
