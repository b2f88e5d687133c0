#include "quantize/calibrated_net.h"

#include <algorithm>

#include "files/tensor_files.h"
#include "graph/error.h"
#include "ops/op_codes.h"
#include "quantize/equalize.h"
#include "quantize/fast_net.h"

namespace skiff {
namespace {

/// Calls whose outputs are kept and compared.
constexpr size_t kMostCompared = 32;
/// And of these, those that tell what single layers cost.
constexpr size_t kMostSearched = 8;

}  // namespace

void CalibratedNet::Observe(const FormatPlan& plan) {
  const std::vector<ValueId> values = RoundedValues(graph_, plan);
  observations_.clear();
  expected_.clear();
  FastNet net(graph_, values, options_.threads);
  std::vector<int64_t> channels;
  for (const ValueId value : values) {
    const std::vector<Dim>& dims = graph_.value(value).dims;
    channels.push_back(dims.size() > 1 && dims.back().constant() ? dims.back().value : 0);
  }
  // With variables, what a call computes depends on those before it: the first ones are compared, without
  // gaps.
  const size_t stride =
      graph_.variables.empty() ? (calls_.size() + kMostCompared - 1) / kMostCompared : size_t{1};
  for (size_t i = 0; i < calls_.size(); ++i) {
    Progress(fmt::format("calibrate, {} of {}", i + 1, calls_.size()));
    const auto observe = [&](size_t wanted, const TensorView& view) {
      const TensorData dense = DenseCopy(view);
      observations_[values[wanted]].Add({dense.as<float>(), static_cast<size_t>(dense.elements())},
                                        channels[wanted]);
    };
    NamedTensors outputs = Within(fmt::format("call {} of {} to calibrate with", i + 1, calls_.size()),
                                  [&] { return net.Run(calls_[i], observe); });
    if (i % stride == 0 && expected_.size() < kMostCompared) expected_.emplace_back(i, std::move(outputs));
  }
}

void CalibratedNet::Calibrate(const FormatPlan& plan) {
  Observe(plan);
  if (options_.equalize && RoundsValues(options_.format) && EqualizeChannels(graph_, observations_) > 0)
    Observe(plan);
  const int levels = options_.format == Format::k16x8 ? 1 << 16 : 1 << 8;
  for (const auto& [value, seen] : observations_)
    ranges_[value] = ChooseRange(seen, options_.ranges, levels, options_.percentile);
  LimitTerms(graph_, ranges_);
  ShareRanges(graph_, plan, ranges_);
}

void CalibratedNet::RoundWeights(const FormatPlan& plan) {
  rounded_.merge(RoundLayers(graph_, plan, calls_, options_.weights, options_.threads, options_.progress));
}

FormatPlan CalibratedNet::Settled(FormatPlan plan) const {
  SettlePlan(graph_, plan);
  return plan;
}

Graph CalibratedNet::Quantized(const FormatPlan& plan) const {
  Graph graph = graph_;
  InsertQuantization(graph, plan, ranges_, rounded_, options_.weights);
  return graph;
}

OutputError CalibratedNet::ErrorOf(const Graph& graph, size_t most) const {
  FastNet net(graph, {}, options_.threads);
  OutputError error;
  for (size_t i = 0; i < std::min(most, expected_.size()); ++i)
    error.Add(expected_[i].second, net.Run(calls_[expected_[i].first]));
  return error;
}

OutputError CalibratedNet::ErrorOf(const FormatPlan& plan) const {
  return ErrorOf(Quantized(plan), kMostSearched);
}

std::optional<double> CalibratedNet::ErrorByMeasure(const Graph& graph) {
  if (options_.score_of) {
    if (!float_score_) float_score_ = options_.score_of(graph_);
    return *float_score_ - options_.score_of(graph);
  }
  if (calls_.empty()) return {};
  return ErrorOf(graph, kMostCompared).Of(options_.measure);
}

bool CalibratedNet::Fits(const Graph& graph, BudgetCost& cost) const {
  if (options_.max_bytes) cost.bytes = options_.bytes_of(graph);
  if (options_.max_bytes && *cost.bytes > *options_.max_bytes) return false;
  if (options_.max_ms) cost.milliseconds = options_.milliseconds_of(graph);
  return !options_.max_ms || *cost.milliseconds <= *options_.max_ms;
}

std::map<NodeId, double> CalibratedNet::NoiseOf(const FormatPlan& layers, const Graph& quantized) const {
  std::vector<NodeId> nodes;
  std::vector<ValueId> reals;
  std::vector<ValueId> rounded;
  for (const auto& [node, format] : layers) {
    const ValueId real = graph_.node(node).outputs[0];
    if (graph_.value(real).dtype != DType::kF32) continue;
    nodes.push_back(node);
    reals.push_back(real);
    rounded.push_back(real);
    for (const Use& use : quantized.value(real).uses) {
      const Node& user = quantized.node(use.node);
      if (RoundsValues(format) && user.op == OpCode::kQuantize) rounded.back() = user.outputs[0];
    }
  }
  FastNet of_reals(graph_, reals, options_.threads);
  FastNet of_rounded(quantized, rounded, options_.threads);
  OutputError noise;
  for (size_t i = 0; i < std::min(kMostSearched, expected_.size()); ++i) {
    Progress(fmt::format("measure noise, {} of {}", i + 1, std::min(kMostSearched, expected_.size())));
    const NamedTensors& inputs = calls_[expected_[i].first];
    NamedTensors expected;
    NamedTensors got;
    of_reals.Run(inputs, [&](size_t at, const TensorView& view) {
      expected[fmt::format("{}", at)] = DenseCopy(view);
    });
    of_rounded.Run(inputs,
                   [&](size_t at, const TensorView& view) { got[fmt::format("{}", at)] = DenseCopy(view); });
    noise.Add(expected, got);
  }
  std::map<NodeId, double> decibels;
  for (size_t i = 0; i < nodes.size(); ++i) decibels[nodes[i]] = noise.SignalToNoise(fmt::format("{}", i));
  return decibels;
}

}  // namespace skiff
