#include "quantize/budget.h"

#include <utility>

#include "graph/error.h"
#include "quantize/describe.h"

namespace skiff {
namespace {

/// The plan with weights of four bits in some layers, where it has too many bytes. Nothing: it has not.
std::optional<FormatPlan> WithinBytes(Candidates& candidates, const FormatPlan& plan,
                                      std::vector<SearchStep>& trail) {
  const Graph& graph = candidates.graph();
  const QuantizeOptions& options = candidates.options();
  const auto fits = [&](const FormatPlan& tried, BudgetCost& cost) {
    candidates.Progress("search, bytes");
    cost.bytes = options.bytes_of(candidates.Quantized(candidates.Settled(tried)));
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
  candidates.RoundWeights(narrow);
  std::vector<NarrowerLayer> layers;
  for (const auto& [node, format] : narrow) {
    candidates.Progress(
        fmt::format("measure weights of four bits, {} of {}", layers.size() + 1, narrow.size()));
    const auto bytes = [&](Format as) {
      return ConstantBytes(candidates.Quantized(FormatPlan{{node, as}}), node, as);
    };
    layers.push_back({node, candidates.ErrorOf(FormatPlan{{node, format}}).Of(options.measure),
                      bytes(plan.at(node)) - bytes(format)});
  }
  SearchResult found = Narrow(plan, Format::kWeights4, std::move(layers), fits);
  trail.insert(trail.end(), found.trail.begin(), found.trail.end());
  return candidates.Settled(std::move(found.plan));
}

}  // namespace

SearchResult KeepBudgets(Candidates& candidates, FormatPlan plan, const std::map<NodeId, LayerCost>& alone) {
  const QuantizeOptions& options = candidates.options();
  if (!candidates.has_calls())
    Throw(StatusCode::kInvalidArgument,
          "a budget needs inputs to measure with, also in formats of weights alone; say --calibrate FOLDER");
  SearchResult found;
  std::optional<FormatPlan> narrowed;
  if (options.max_bytes) narrowed = WithinBytes(candidates, plan, found.trail);
  if (narrowed) plan = std::move(*narrowed);
  found.plan = plan;
  if (narrowed && !options.max_error) return found;
  std::vector<LayerCost> costs;
  for (const auto& [node, cost] : alone) {
    if (plan.contains(node)) costs.push_back(cost);
  }
  const auto try_plan = [&](const FormatPlan& tried) {
    candidates.Progress(fmt::format("search, {} layers float", plan.size() - tried.size()));
    return candidates.Quantized(candidates.Settled(tried));
  };
  SearchResult floats;
  if (options.max_error) {
    floats = LeaveFloat(plan, std::move(costs), *options.max_error,
                        [&](const FormatPlan& tried) { return *candidates.ErrorByMeasure(try_plan(tried)); });
  } else {
    floats = LeaveFloatWithin(plan, std::move(costs), [&](const FormatPlan& tried, BudgetCost& cost) {
      return candidates.Fits(try_plan(tried), cost);
    });
  }
  floats.plan = candidates.Settled(std::move(floats.plan));
  floats.trail.insert(floats.trail.begin(), found.trail.begin(), found.trail.end());
  return floats;
}

}  // namespace skiff
