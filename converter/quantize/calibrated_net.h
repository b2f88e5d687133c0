/// A float net with what was seen of it and chosen for it: makes the quantised net of any plan, and says how
/// far that one is from the float one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quantize/insert.h"
#include "quantize/output_error.h"
#include "quantize/quantizer.h"
#include "quantize/rounded_layers.h"
#include "quantize/search.h"

namespace skiff {

class CalibratedNet {
 public:
  /// The graph as InsertQuantization() wants it. `calls` and `options` must live as long.
  CalibratedNet(Graph graph, const std::vector<NamedTensors>& calls, const QuantizeOptions& options)
      : options_(options), calls_(calls), graph_(std::move(graph)) {}

  const Graph& graph() const { return graph_; }
  const QuantizeOptions& options() const { return options_; }
  bool has_calls() const { return !calls_.empty(); }
  const Observations& observations() const { return observations_; }
  const Ranges& ranges() const { return ranges_; }

  /// Runs the float net, sees what values it has, makes channels even, and chooses the ranges of the values
  /// that the plan rounds.
  void Calibrate(const FormatPlan& plan);
  /// Chooses codes for the weights of the plan's products.
  void RoundWeights(const FormatPlan& plan);

  /// Without operators that would be alone on codes.
  FormatPlan Settled(FormatPlan plan) const;
  Graph Quantized(const FormatPlan& plan) const;

  /// What plans cost, on a few of the calls.
  OutputError ErrorOf(const FormatPlan& plan) const;
  /// What a graph of Quantized() costs by the options' measure or score, on so many calls that a budget holds
  /// for what a report says. Nothing without calls or score.
  std::optional<double> ErrorByMeasure(const Graph& graph);
  /// Whether bytes and time are within the options' limits.
  bool Fits(const Graph& graph, BudgetCost& cost) const;
  /// Signal to noise of the layers' results, in decibels; `quantized`: the graph of a plan that has these
  /// layers, and in the same formats.
  std::map<NodeId, double> NoiseOf(const FormatPlan& layers, const Graph& quantized) const;

  /// By the options' score; nothing before it was asked for.
  std::optional<double> float_score() const { return float_score_; }
  void Progress(const std::string& step) const {
    if (options_.progress) options_.progress(step);
  }

 private:
  void Observe(const FormatPlan& plan);
  OutputError ErrorOf(const Graph& graph, size_t most) const;

  const QuantizeOptions& options_;
  const std::vector<NamedTensors>& calls_;
  Graph graph_;
  Observations observations_;
  Ranges ranges_;
  RoundedLayers rounded_;
  std::vector<std::pair<size_t, NamedTensors>> expected_;  ///< Outputs of some of the calls.
  std::optional<double> float_score_;
};

}  // namespace skiff
