#include "quantize/budget.h"

#include <utility>

#include "graph/counted.h"
#include "graph/error.h"
#include "quantize/describe.h"

namespace skiff {
namespace {

/// The plan with weights of four bits in some layers, where it has too many bytes. Nothing: it has not.
std::optional<FormatPlan> WithinBytes(CalibratedNet& net, const FormatPlan& plan,
                                      std::vector<SearchStep>& trail) {
  const Graph& graph = net.graph();
  const QuantizeOptions& options = net.options();
  const auto fits = [&](const FormatPlan& tried, BudgetCost& cost) {
    net.Progress("search, bytes");
    cost.bytes = options.bytes_of(net.Quantized(net.Settled(tried)));
    return *cost.bytes <= *options.max_bytes;
  };
  SearchStep whole;
  const bool fit = fits(plan, whole);
  trail.push_back(whole);
  if (fit) return {};
  FormatPlan narrow;
  for (const auto& [node, format] : plan) {
    if (!LargeConstants(graph, graph.node(node)).empty()) narrow[node] = Format::kWeights4;
  }
  net.RoundWeights(narrow);
  std::vector<NarrowerLayer> layers;
  for (const auto& [node, format] : narrow) {
    net.Progress(fmt::format("measure weights of four bits, {} of {}", layers.size() + 1, narrow.size()));
    const auto bytes = [&](Format as) {
      return ConstantBytes(net.Quantized(FormatPlan{{node, as}}), node, as);
    };
    layers.push_back({node, net.ErrorOf(FormatPlan{{node, format}}).Of(options.measure),
                      bytes(plan.at(node)) - bytes(format)});
  }
  SearchResult found = Narrow(plan, Format::kWeights4, std::move(layers), fits);
  trail.insert(trail.end(), found.trail.begin(), found.trail.end());
  return net.Settled(std::move(found.plan));
}

}  // namespace

SearchResult KeepBudgets(CalibratedNet& net, FormatPlan plan, const std::map<NodeId, LayerCost>& alone) {
  const QuantizeOptions& options = net.options();
  if (!net.has_calls())
    Throw(StatusCode::kInvalidArgument,
          "a budget needs inputs to measure with, also in formats of weights alone; say --calibrate FOLDER");
  SearchResult found;
  std::optional<FormatPlan> narrowed;
  if (options.max_bytes) narrowed = WithinBytes(net, plan, found.trail);
  if (narrowed) plan = std::move(*narrowed);
  found.plan = plan;
  if (narrowed && !options.max_error) return found;
  std::vector<LayerCost> costs;
  for (const auto& [node, cost] : alone) {
    if (plan.contains(node)) costs.push_back(cost);
  }
  const auto try_plan = [&](const FormatPlan& tried) {
    net.Progress(fmt::format("search, {} float", Counted(plan.size() - tried.size(), "layer")));
    return net.Quantized(net.Settled(tried));
  };
  SearchResult floats;
  if (options.max_error) {
    floats = LeaveFloat(plan, std::move(costs), *options.max_error,
                        [&](const FormatPlan& tried) { return *net.ErrorByMeasure(try_plan(tried)); });
  } else {
    floats = LeaveFloatWithin(plan, std::move(costs), [&](const FormatPlan& tried, BudgetCost& cost) {
      return net.Fits(try_plan(tried), cost);
    });
  }
  floats.plan = net.Settled(std::move(floats.plan));
  floats.trail.insert(floats.trail.begin(), found.trail.begin(), found.trail.end());
  return floats;
}

}  // namespace skiff
