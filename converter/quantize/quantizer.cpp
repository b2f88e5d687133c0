#include "quantize/quantizer.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/error.h"
#include "graph/nearest.h"
#include "passes/fuse/linear.h"
#include "passes/passes.h"
#include "quantize/budget.h"
#include "quantize/calibrated_net.h"
#include "quantize/describe.h"

namespace skiff {
namespace {

/// Passes behind this make operators over integers.
constexpr const char* kFolding = "fold-qdq";
/// Why a layer stays float that has or sees what no code stands for.
constexpr const char* kNotFinite = "has NaN or infinities";

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

Graph Prepared(Graph graph, const QuantizeOptions& options) {
  if (options.progress) options.progress("optimise");
  PipelineOptions pipeline;
  pipeline.until = kFolding;
  RunPipeline(graph, pipeline);
  CheckFloat(graph);
  return graph;
}

/// Why each layer is float, with their names; "" where one is not.
std::string WhyNone(const std::vector<QuantizedLayer>& layers) {
  std::map<std::string, std::vector<std::string>> names;
  for (const QuantizedLayer& layer : layers) {
    if (layer.format != Format::kFloat) return "";
    names[layer.why_float].push_back(layer.name);
  }
  std::string text;
  for (const auto& [why, of] : names)
    text += fmt::format("{}'{}' ({})", text.empty() ? "" : ", ", fmt::join(of, "', '"), why);
  return text;
}

class Quantizer {
 public:
  Quantizer(Graph graph, const std::vector<NamedTensors>& calls, const QuantizeOptions& options)
      : options_(options), net_(Prepared(std::move(graph), options), calls, options) {}

  QuantizeResult Run() {
    FindAll();
    FormatPlan plan = FirstPlan();
    if (has_calls()) {
      net_.Calibrate(plan);
      plan = WithFiniteValues(plan);
      net_.RoundWeights(plan);
    }
    QuantizeResult result;
    const bool budget = options_.max_error || options_.max_bytes || options_.max_ms;
    if (has_calls() && (budget || options_.measure_layers)) MeasureAlone(plan);
    if (has_calls() && !options_.everything) plan = WithFloatEnds(plan, result);
    if (budget) {
      SearchResult found = KeepBudgets(net_, plan, alone_);
      for (const NodeId node : found.left_float) why_float_[node] = "costs most";
      plan = std::move(found.plan);
      result.trail = std::move(found.trail);
    }
    result.graph = net_.Quantized(plan);
    result.cost = {net_.ErrorByMeasure(result.graph), {}, {}};
    result.float_score = net_.float_score();
    result.within_budget = (!options_.max_error || *result.cost.error <= *options_.max_error) &&
                           net_.Fits(result.graph, result.cost);
    result.layers = DescribeLayers(net_, layers_, plan, result.graph, why_float_, alone_);
    if (const std::string why = WhyNone(result.layers); !why.empty())
      result.notes.push_back("no layer was quantised: " + why);
    return result;
  }

 private:
  const Graph& graph() const { return net_.graph(); }
  bool has_calls() const { return net_.has_calls(); }

  void FindAll() {
    layers_ = FindLayers(graph(), options_.format);
    AddTables();
    if (layers_.empty())
      Throw(StatusCode::kInvalidArgument,
            "there is nothing to quantise as {}: no operator of the net has constant weights of f32{}",
            FormatName(options_.format), RoundsValues(options_.format) ? "" : " that are worth it");
    if (NeedsCalibration(options_.format) && !has_calls())
      Throw(StatusCode::kInvalidArgument,
            "{} needs inputs to calibrate with; say --calibrate FOLDER, or take a format of weights alone "
            "(weights8, weights4, f16), dynamic or dynamic4",
            FormatName(options_.format));
  }

  /// Constants of other operators (tables, recurrent layers) become codes, too; with them stored as bytes
  /// nothing else changes.
  void AddTables() {
    if (!RoundsValues(options_.format)) return;
    std::set<NodeId> known;
    for (const Layer& layer : layers_) known.insert(layer.node);
    for (const Layer& layer : FindLayers(graph(), Format::kWeights8)) {
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
      const bool finite = HasFiniteConstants(graph(), graph().node(layer.node));
      if (!finite) why_float_[layer.node] = kNotFinite;
      if (kept) why_float_[layer.node] = "kept";
      if (!kept && finite) plan[layer.node] = layer.format;
    }
    StoreAsHalvesBeforeLogarithms(plan);
    SettlePlan(graph(), plan);
    return plan;
  }

  void StoreAsHalvesBeforeLogarithms(FormatPlan& plan) {
    if (options_.everything) return;
    for (const NodeId node : NodesBeforeLogarithms(graph())) {
      const auto found = plan.find(node);
      if (found == plan.end()) continue;
      why_float_[node] = "a logarithm reads its result";
      if (LargeConstants(graph(), graph().node(node)).empty()) {
        plan.erase(found);
      } else {
        found->second = Format::kF16;
      }
    }
  }

  /// Without layers that saw what no code stands for.
  FormatPlan WithFiniteValues(FormatPlan plan) {
    const bool empty = plan.empty();
    std::string first;
    const auto is_finite = [&](ValueId value) {
      const auto seen = net_.observations().find(value);
      return seen == net_.observations().end() || seen->second.not_finite() == 0;
    };
    for (const Layer& layer : layers_) {
      const auto found = plan.find(layer.node);
      if (found == plan.end() || !RoundsValues(found->second)) continue;
      std::vector<ValueId> values = RoundedInputs(graph(), graph().node(layer.node));
      const std::vector<ValueId>& outputs = graph().node(layer.node).outputs;
      values.insert(values.end(), outputs.begin(), outputs.end());
      if (std::all_of(values.begin(), values.end(), is_finite)) continue;
      why_float_[layer.node] = kNotFinite;
      if (first.empty()) first = layer.name;
      plan.erase(found);
    }
    SettlePlan(graph(), plan);
    if (plan.empty() && !empty)
      Throw(StatusCode::kInvalidArgument,
            "no layer can be quantised: with the inputs to calibrate with, the net's values are NaN or "
            "infinite, first in '{}'; look at what the inputs hold",
            first);
    return plan;
  }

  /// Products of integers whose results no product reads, directly or further on.
  FormatPlan EndsOf(const FormatPlan& plan) const {
    FormatPlan ends;
    std::set<ValueId> read;
    const std::vector<NodeId> order = graph().TopologicalOrder();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = graph().node(*id);
      const bool behind = MakesAny(node, read);
      const auto own = plan.find(*id);
      const bool product = own != plan.end() && RoundsValues(own->second) && IsLinear(node.op);
      if (product && !behind) ends.insert(*own);
      if (!product && !behind) continue;
      for (const ValueId input : node.inputs) read.insert(input);
    }
    return ends;
  }

  /// What no product reads is rounded for nothing: products that make such results multiply floats by weights
  /// of bytes, where that is much better. Each counts on its own: in what several of them make together, a
  /// large one would hide what a small one loses.
  FormatPlan WithFloatEnds(FormatPlan plan, QuantizeResult& result) {
    constexpr double kMuch = 2.5;  // Decibels.
    const FormatPlan ends = EndsOf(plan);
    if (ends.empty()) return plan;
    FormatPlan float_ends = ends;
    FormatPlan with_floats = plan;
    for (auto& [node, format] : float_ends) with_floats[node] = format = Format::kWeights8;
    SettlePlan(graph(), with_floats);
    const std::map<NodeId, double> rounded = net_.NoiseOf(ends, net_.Quantized(plan));
    const std::map<NodeId, double> real = net_.NoiseOf(float_ends, net_.Quantized(with_floats));
    std::vector<std::string> names;
    for (const auto& [node, decibels] : rounded) {
      if (real.at(node) - decibels < kMuch) continue;
      plan[node] = Format::kWeights8;
      names.push_back(graph().node(node).name);
    }
    SettlePlan(graph(), plan);
    if (!names.empty()) {
      result.notes.push_back(fmt::format(
          "computed on floats, with weights of bytes, because rounding the results costs most there "
          "(--everything rounds them): '{}'",
          fmt::join(names, "', '")));
    }
    return plan;
  }

  void MeasureAlone(const FormatPlan& plan) {
    for (const auto& [node, format] : plan) {
      net_.Progress(fmt::format("measure layers, {} of {}", alone_.size() + 1, plan.size()));
      const OutputError error = net_.ErrorOf(FormatPlan{{node, format}});
      alone_[node] = {node, error.Of(options_.measure), error.Of(ErrorMeasure::kRms)};
    }
  }

  const QuantizeOptions& options_;
  CalibratedNet net_;
  std::vector<Layer> layers_;
  WhyFloat why_float_;
  std::map<NodeId, LayerCost> alone_;
};

}  // namespace

QuantizeResult QuantizeGraph(Graph graph, const std::vector<NamedTensors>& calls,
                             const QuantizeOptions& options) {
  return Quantizer(std::move(graph), calls, options).Run();
}

}  // namespace skiff
