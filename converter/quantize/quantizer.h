/// From a float graph and calls of it to a quantised graph that is still right.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantize/insert.h"
#include "quantize/layers.h"
#include "quantize/output_error.h"
#include "quantize/search.h"

namespace skiff {

struct QuantizeOptions {
  Format format = Format::kI8;
  RangeMethod ranges = RangeMethod::kMinMax;
  double percentile = 99.99;
  std::vector<std::string> keep;  ///< Layers that stay float, by their names.
  bool everything = false;        ///< Also results that no product reads, whatever it costs.
  bool equalize = true;           ///< Channels between products (quantize/equalize.h).
  WeightOptions weights;
  int threads = 0;
  ErrorMeasure measure = ErrorMeasure::kLargest;
  /// Layers that cost most stay float until the error is not larger.
  std::optional<double> max_error;
  /// With no such limit, layers that cost most stay float as long as these are kept. Where the format alone
  /// has more bytes, layers that cost least get weights of four bits.
  std::optional<uint64_t> max_bytes;
  std::optional<double> max_ms;
  /// What a file of this graph has and takes; needed for a limit of it.
  std::function<uint64_t(const Graph& graph)> bytes_of;
  std::function<double(const Graph& graph)> milliseconds_of;
  /// How good a graph is, the more the better. Where given, an error is what a graph lacks to the float one,
  /// and `measure` says only what single layers cost.
  std::function<double(const Graph& graph)> score_of;
  bool measure_layers = false;  ///< Fill in what each layer costs, and its histograms.
  std::function<void(const std::string& step)> progress;  ///< May be empty.
};

/// Numbers in equal steps.
struct Histogram {
  double low = 0;
  double high = 0;
  std::vector<int64_t> counts;
};

/// What became of a layer.
struct QuantizedLayer {
  std::string name;
  std::string op;
  Format format = Format::kFloat;
  std::string why_float;     ///< "" where it is none.
  int64_t bytes_before = 0;  ///< Of its constants.
  int64_t bytes = 0;
  std::optional<double> signal_to_noise;  ///< Decibels of its result, with all layers before it quantised.
  std::optional<double> error_alone;      ///< Of the outputs, when no other layer is quantised.
  std::optional<double> error_without;    ///< When all other layers are.
  std::optional<Range> range;             ///< Of its result.
  double clipped = 0;                     ///< Share of its results beyond.
  Histogram results;
  Histogram weights;
};

struct QuantizeResult {
  Graph graph;
  std::vector<QuantizedLayer> layers;
  BudgetCost cost;  ///< The error by the options' measure or score; nothing without calls.
  std::optional<double> float_score;
  bool within_budget = true;  ///< Also where there is none.
  std::vector<SearchStep> trail;
  std::vector<std::string> notes;
};

/// Whether calls are needed to choose anything.
inline bool NeedsCalibration(Format format) { return RoundsValues(format); }

/// `graph` as it was imported, with its shapes fixed as for a conversion; `calls`: inputs of its callers.
/// Throws Error: kInvalidArgument for a graph that is quantised already or has nothing to quantise, for names
/// in `keep` that no layer has, and for calls that are missing or not the graph's.
QuantizeResult QuantizeGraph(Graph graph, const std::vector<NamedTensors>& calls,
                             const QuantizeOptions& options);

}  // namespace skiff
