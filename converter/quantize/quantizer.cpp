#include "quantize/quantizer.h"

#include <algorithm>
#include <set>

#include "files/tensor_files.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "passes/fuse/linear.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "quantize/equalize.h"
#include "quantize/fast_net.h"

namespace skiff {
namespace {

/// Passes behind this make operators over integers.
constexpr const char* kFolding = "fold-qdq";
/// Calls whose outputs are kept and compared.
constexpr size_t kMostCompared = 32;
/// And of these, those that tell what single layers cost.
constexpr size_t kMostSearched = 8;

void CheckFloat(const Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.quantization && (!value.uses.empty() || graph.IsGraphOutput(id)))
      Throw(StatusCode::kInvalidArgument,
            "the net is quantised already: its tensor '{}' is {}{}; quantise the float net that it was made "
            "from",
            value.name, DTypeName(value.dtype), QuantizationText(value.quantization));
  }
}

/// Of a node's constants, with their scales, as the file will have them.
int64_t ConstantBytes(const Graph& graph, NodeId id, Format format) {
  int64_t bytes = 0;
  const std::vector<size_t> large = LargeConstants(graph, graph.node(id));
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const ValueId input = graph.node(id).inputs[i];
    if (input == kNoValue) continue;
    const ValueId codes = DequantizedFrom(graph, input);
    const Value& value = graph.value(codes != kNoValue ? codes : input);
    if (!value.constant) continue;
    auto own = static_cast<int64_t>(value.constant->size_bytes());
    if (format == Format::kF16 && std::find(large.begin(), large.end(), i) != large.end()) own /= 2;
    if (value.quantization && !value.quantization->per_tensor())
      own += value.quantization->count * static_cast<int64_t>(sizeof(float));
    bytes += own;
  }
  return bytes;
}

/// From the least to the largest number that was seen, in steps that pages have room for.
Histogram HistogramOf(const Observer& seen) {
  constexpr int kSteps = 64;
  Histogram histogram{seen.min(), seen.max(), {}};
  if (seen.count() == 0 || !(histogram.high > histogram.low)) return histogram;
  histogram.counts.assign(kSteps, 0);
  const auto add = [&](double number, int64_t count) {
    const double share = (number - histogram.low) / (histogram.high - histogram.low);
    histogram.counts[static_cast<size_t>(std::clamp(static_cast<int>(share * kSteps), 0, kSteps - 1))] +=
        count;
  };
  for (int i = 0; i < static_cast<int>(seen.bins().size()); ++i)
    add(seen.BinMiddle(i), seen.bins()[static_cast<size_t>(i)]);
  add(0, seen.zeros());
  return histogram;
}

class Quantizer {
 public:
  Quantizer(Graph graph, const std::vector<NamedTensors>& calls, const QuantizeOptions& options)
      : options_(options), calls_(calls), graph_(std::move(graph)) {}

  QuantizeResult Run() {
    Prepare();
    FormatPlan plan = FirstPlan();
    if (!calls_.empty()) {
      Calibrate(plan);
      if (options_.equalize && RoundsValues(options_.format) && EqualizeChannels(graph_, observations_) > 0)
        Calibrate(plan);
      ChooseRanges();
      plan = WithRanges(plan);
      rounded_ = RoundLayers(graph_, plan, calls_, options_.weights, options_.threads, options_.progress);
    }
    QuantizeResult result;
    const bool budget = options_.max_error || options_.max_bytes || options_.max_ms;
    if (!calls_.empty() && (budget || options_.measure_layers)) MeasureAlone(plan);
    if (!calls_.empty() && !options_.everything) plan = WithFloatEnds(plan, result);
    if (budget) plan = Search(plan, result);
    result.graph = Quantized(plan);
    result.cost = {ErrorByMeasure(result.graph), {}, {}};
    result.float_score = float_score_;
    result.within_budget =
        (!options_.max_error || *result.cost.error <= *options_.max_error) && Fits(result.graph, result.cost);
    Describe(plan, result);
    return result;
  }

 private:
  void Progress(const std::string& step) const {
    if (options_.progress) options_.progress(step);
  }

  void Prepare() {
    Progress("optimise");
    PipelineOptions pipeline;
    pipeline.until = kFolding;
    RunPipeline(graph_, pipeline);
    CheckFloat(graph_);
    layers_ = FindLayers(graph_, options_.format);
    AddTables();
    if (layers_.empty())
      Throw(StatusCode::kInvalidArgument,
            "there is nothing to quantise as {}: no operator of the net has constant weights of f32{}",
            FormatName(options_.format), RoundsValues(options_.format) ? "" : " that are worth it");
    if (NeedsCalibration(options_.format) && calls_.empty())
      Throw(StatusCode::kInvalidArgument,
            "{} needs inputs to calibrate with; say --calibrate FOLDER, or take a format of weights alone "
            "(weights8, weights4, f16)",
            FormatName(options_.format));
  }

  /// Constants of other operators (tables, recurrent layers) become codes, too; with them stored as bytes
  /// nothing else changes.
  void AddTables() {
    if (!RoundsValues(options_.format)) return;
    std::set<NodeId> known;
    for (const Layer& layer : layers_) known.insert(layer.node);
    for (const Layer& layer : FindLayers(graph_, Format::kWeights8)) {
      if (!known.contains(layer.node)) layers_.push_back({layer.node, layer.name, Format::kWeights8});
    }
  }

  FormatPlan FirstPlan() {
    std::vector<std::string> names;
    for (const Layer& layer : layers_) names.push_back(layer.name);
    for (const std::string& name : options_.keep) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        Throw(StatusCode::kInvalidArgument,
              "--keep {}: the net has no layer of this name{}; {} are quantised: '{}'", name,
              DidYouMean(name, names), names.size(), fmt::join(names, "', '"));
    }
    FormatPlan plan;
    for (const Layer& layer : layers_) {
      const bool kept =
          std::find(options_.keep.begin(), options_.keep.end(), layer.name) != options_.keep.end();
      if (kept) why_float_[layer.node] = "kept";
      if (!kept) plan[layer.node] = layer.format;
    }
    SettlePlan(graph_, plan);
    return plan;
  }

  /// Runs the float net, and sees what values it has.
  void Calibrate(const FormatPlan& plan) {
    const std::vector<ValueId> values = RoundedValues(graph_, plan);
    observations_.clear();
    expected_.clear();
    FastNet net(graph_, values, options_.threads);
    std::vector<int64_t> channels;
    for (const ValueId value : values) {
      const std::vector<Dim>& dims = graph_.value(value).dims;
      channels.push_back(dims.size() > 1 && dims.back().constant() ? dims.back().value : 0);
    }
    const size_t stride = (calls_.size() + kMostCompared - 1) / kMostCompared;
    for (size_t i = 0; i < calls_.size(); ++i) {
      Progress(fmt::format("calibrate, {} of {}", i + 1, calls_.size()));
      NamedTensors outputs = net.Run(calls_[i], [&](size_t wanted, const TensorView& view) {
        const TensorData dense = DenseCopy(view);
        observations_[values[wanted]].Add({dense.as<float>(), static_cast<size_t>(dense.elements())},
                                          channels[wanted]);
      });
      if (i % stride == 0) expected_.emplace_back(i, std::move(outputs));
    }
  }

  void ChooseRanges() {
    const int levels = options_.format == Format::k16x8 ? 1 << 16 : 1 << 8;
    for (const auto& [value, seen] : observations_)
      ranges_[value] = ChooseRange(seen, options_.ranges, levels, options_.percentile);
    ShareRanges(graph_, ranges_);
  }

  /// Without layers that saw what no code stands for.
  FormatPlan WithRanges(FormatPlan plan) {
    const auto is_finite = [&](ValueId value) {
      const auto seen = observations_.find(value);
      return seen == observations_.end() || seen->second.not_finite() == 0;
    };
    for (const Layer& layer : layers_) {
      const auto found = plan.find(layer.node);
      if (found == plan.end() || !RoundsValues(found->second)) continue;
      std::vector<ValueId> values = RoundedInputs(graph_, graph_.node(layer.node));
      const std::vector<ValueId>& outputs = graph_.node(layer.node).outputs;
      values.insert(values.end(), outputs.begin(), outputs.end());
      if (std::all_of(values.begin(), values.end(), is_finite)) continue;
      why_float_[layer.node] = "has NaN or infinities";
      plan.erase(found);
    }
    SettlePlan(graph_, plan);
    return plan;
  }

  /// What no product reads is rounded for nothing: the products that make it multiply floats by weights of
  /// bytes where that is much better.
  FormatPlan WithFloatEnds(const FormatPlan& plan, QuantizeResult& result) {
    constexpr double kMuch = 0.75;
    std::set<ValueId> read;
    FormatPlan ends = plan;
    const std::vector<NodeId> order = graph_.TopologicalOrder();
    std::string names;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = graph_.node(*id);
      const bool behind = std::any_of(node.outputs.begin(), node.outputs.end(),
                                      [&](ValueId output) { return read.contains(output); });
      const auto own = plan.find(*id);
      const bool product = own != plan.end() && RoundsValues(own->second) && IsLinear(node.op);
      if (product && !behind) {
        ends[*id] = Format::kWeights8;
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", node.name);
      }
      if (!product && !behind) continue;
      for (const ValueId input : node.inputs) read.insert(input);
    }
    SettlePlan(graph_, ends);
    if (names.empty() || ErrorOf(ends).Of(ErrorMeasure::kRms) > kMuch * ErrorOf(plan).Of(ErrorMeasure::kRms))
      return plan;
    result.notes.push_back(fmt::format(
        "computed on floats, with weights of bytes, because rounding the results costs most there "
        "(--everything rounds them): {}",
        names));
    return ends;
  }

  Graph Quantized(const FormatPlan& plan) const {
    Graph graph = graph_;
    InsertQuantization(graph, plan, ranges_, rounded_, options_.weights);
    return graph;
  }

  OutputError ErrorOf(const Graph& graph, size_t most = kMostCompared) const {
    FastNet net(graph, {}, options_.threads);
    OutputError error;
    for (size_t i = 0; i < std::min(most, expected_.size()); ++i)
      error.Add(expected_[i].second, net.Run(calls_[expected_[i].first]));
    return error;
  }

  OutputError ErrorOf(const FormatPlan& plan) const { return ErrorOf(Quantized(plan), kMostSearched); }

  void MeasureAlone(const FormatPlan& plan) {
    for (const auto& [node, format] : plan) {
      Progress(fmt::format("measure layers, {} of {}", alone_.size() + 1, plan.size()));
      const OutputError error = ErrorOf(FormatPlan{{node, format}});
      alone_[node] = {node, error.Of(options_.measure), error.Of(ErrorMeasure::kRms)};
    }
  }

  /// All calls, so that the budget holds for what the report says. Nothing without calls or score.
  std::optional<double> ErrorByMeasure(const Graph& graph) {
    if (options_.score_of) {
      if (!float_score_) float_score_ = options_.score_of(graph_);
      return *float_score_ - options_.score_of(graph);
    }
    if (calls_.empty()) return {};
    return ErrorOf(graph).Of(options_.measure);
  }

  /// Whether bytes and time are within their limits.
  bool Fits(const Graph& graph, BudgetCost& cost) const {
    if (options_.max_bytes) cost.bytes = options_.bytes_of(graph);
    if (options_.max_bytes && *cost.bytes > *options_.max_bytes) return false;
    if (options_.max_ms) cost.milliseconds = options_.milliseconds_of(graph);
    return !options_.max_ms || *cost.milliseconds <= *options_.max_ms;
  }

  FormatPlan Settled(FormatPlan plan) const {
    SettlePlan(graph_, plan);
    return plan;
  }

  /// Every budget in turn: bytes that the format alone does not keep, then the error, or, where none is asked
  /// for, as little of it as the others leave.
  FormatPlan Search(FormatPlan plan, QuantizeResult& result) {
    if (expected_.empty())
      Throw(
          StatusCode::kInvalidArgument,
          "a budget needs inputs to measure with, also in formats of weights alone; say --calibrate FOLDER");
    const bool narrowed = options_.max_bytes && WithinBytes(plan, result);
    std::vector<LayerCost> costs;
    for (const auto& [node, cost] : alone_) {
      if (plan.contains(node)) costs.push_back(cost);
    }
    SearchResult found;
    if (options_.max_error) {
      found = LeaveFloat(plan, std::move(costs), *options_.max_error, [&](const FormatPlan& tried) {
        Progress(fmt::format("search, {} layers float", plan.size() - tried.size()));
        return *ErrorByMeasure(Quantized(Settled(tried)));
      });
    } else if (!narrowed) {
      found = LeaveFloatWithin(plan, std::move(costs), [&](const FormatPlan& tried, BudgetCost& cost) {
        Progress(fmt::format("search, {} layers float", plan.size() - tried.size()));
        return Fits(Quantized(Settled(tried)), cost);
      });
    } else {
      return plan;
    }
    for (const NodeId node : found.left_float) why_float_[node] = "costs most";
    result.trail.insert(result.trail.end(), found.trail.begin(), found.trail.end());
    return Settled(std::move(found.plan));
  }

  /// Gives layers weights of four bits where the plan has too many bytes. False: it has not.
  bool WithinBytes(FormatPlan& plan, QuantizeResult& result) {
    const auto fits = [&](const FormatPlan& tried, BudgetCost& cost) {
      Progress("search, bytes");
      cost.bytes = options_.bytes_of(Quantized(Settled(tried)));
      return *cost.bytes <= *options_.max_bytes;
    };
    SearchStep whole;
    const bool fit = fits(plan, whole);
    result.trail.push_back(whole);
    if (fit) return false;
    FormatPlan narrow;
    for (const auto& [node, format] : plan) {
      if (!LargeConstants(graph_, graph_.node(node)).empty()) narrow[node] = Format::kWeights4;
    }
    rounded_.merge(
        RoundLayers(graph_, narrow, calls_, options_.weights, options_.threads, options_.progress));
    std::vector<NarrowerLayer> layers;
    for (const auto& [node, format] : narrow) {
      Progress(fmt::format("measure weights of four bits, {} of {}", layers.size() + 1, narrow.size()));
      const auto bytes = [&](Format as) {
        return ConstantBytes(Quantized(FormatPlan{{node, as}}), node, as);
      };
      layers.push_back({node, ErrorOf(FormatPlan{{node, format}}).Of(options_.measure),
                        bytes(plan.at(node)) - bytes(format)});
    }
    SearchResult found = Narrow(plan, Format::kWeights4, std::move(layers), fits);
    result.trail.insert(result.trail.end(), found.trail.begin(), found.trail.end());
    plan = Settled(std::move(found.plan));
    return true;
  }

  void Describe(const FormatPlan& plan, QuantizeResult& result) {
    const std::map<NodeId, double> noise =
        calls_.empty() ? std::map<NodeId, double>() : MeasureNoise(plan, result.graph);
    for (const Layer& layer : layers_) {
      QuantizedLayer& row = result.layers.emplace_back();
      row.name = layer.name;
      row.op = FindOp(graph_.node(layer.node).op)->name;
      const auto found = plan.find(layer.node);
      if (found != plan.end()) {
        row.format = found->second;
      } else {
        const auto why = why_float_.find(layer.node);
        row.why_float = why == why_float_.end() ? "its neighbours are float" : why->second;
      }
      row.bytes_before = ConstantBytes(graph_, layer.node, Format::kFloat);
      row.bytes = ConstantBytes(result.graph, layer.node, row.format);
      if (const auto own = noise.find(layer.node); own != noise.end()) row.signal_to_noise = own->second;
      if (const auto own = alone_.find(layer.node); own != alone_.end()) row.error_alone = own->second.error;
      AddHistograms(layer.node, row);
      if (!options_.measure_layers || found == plan.end() || calls_.empty()) continue;
      Progress(fmt::format("measure all but one, {} of {}", result.layers.size(), layers_.size()));
      FormatPlan others = plan;
      others.erase(layer.node);
      row.error_without = ErrorOf(others).Of(options_.measure);
    }
  }

  void AddHistograms(NodeId node, QuantizedLayer& row) const {
    const ValueId result = graph_.node(node).outputs[0];
    const auto seen = observations_.find(result);
    if (seen != observations_.end()) {
      row.results = HistogramOf(seen->second);
      if (RoundsValues(row.format)) row.range = ranges_.at(result);
      if (row.range) row.clipped = ClippedShare(seen->second, *row.range);
    }
    if (!options_.measure_layers) return;
    Observer weights;
    for (const ValueId input : graph_.node(node).inputs) {
      if (input == kNoValue || !graph_.value(input).constant) continue;
      const TensorData& data = *graph_.value(input).constant;
      if (data.dtype() == DType::kF32 && data.shape().rank() > 1)
        weights.Add({data.as<float>(), static_cast<size_t>(data.elements())}, 0);
    }
    row.weights = HistogramOf(weights);
  }

  /// Of the layers' results, in decibels, float against quantised.
  std::map<NodeId, double> MeasureNoise(const FormatPlan& plan, const Graph& quantized) const {
    std::vector<NodeId> nodes;
    std::vector<ValueId> reals;
    std::vector<ValueId> rounded;
    for (const auto& [node, format] : plan) {
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
      of_rounded.Run(
          inputs, [&](size_t at, const TensorView& view) { got[fmt::format("{}", at)] = DenseCopy(view); });
      noise.Add(expected, got);
    }
    std::map<NodeId, double> decibels;
    for (size_t i = 0; i < nodes.size(); ++i) decibels[nodes[i]] = noise.SignalToNoise(fmt::format("{}", i));
    return decibels;
  }

  const QuantizeOptions& options_;
  const std::vector<NamedTensors>& calls_;
  Graph graph_;  ///< Float, ready to be quantised.
  std::vector<Layer> layers_;
  std::map<NodeId, std::string> why_float_;
  Observations observations_;
  Ranges ranges_;
  RoundedLayers rounded_;
  std::vector<std::pair<size_t, NamedTensors>> expected_;  ///< Outputs of some of the calls.
  std::map<NodeId, LayerCost> alone_;
  std::optional<double> float_score_;
};

}  // namespace

QuantizeResult QuantizeGraph(Graph graph, const std::vector<NamedTensors>& calls,
                             const QuantizeOptions& options) {
  return Quantizer(std::move(graph), calls, options).Run();
}

}  // namespace skiff
