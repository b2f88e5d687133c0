#include "quantize/search.h"

#include <algorithm>
#include <tuple>

namespace skiff {
namespace {

/// Layers that are tried to be put back.
constexpr size_t kMostPutBack = 32;

void SortByCost(std::vector<LayerCost>& costs) {
  std::sort(costs.begin(), costs.end(), [](const LayerCost& a, const LayerCost& b) {
    return std::tuple(-a.error, -a.tie, a.node) < std::tuple(-b.error, -b.tie, b.node);
  });
}

std::vector<NodeId> FirstOf(const std::vector<LayerCost>& costs, size_t count) {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < count; ++i) nodes.push_back(costs[i].node);
  return nodes;
}

FormatPlan Without(FormatPlan plan, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) plan.erase(node);
  return plan;
}

}  // namespace

SearchResult LeaveFloat(FormatPlan plan, std::vector<LayerCost> costs, double max_error,
                        const std::function<double(const FormatPlan&)>& error_of) {
  SortByCost(costs);
  SearchResult result;
  const auto first = [&](size_t count) { return FirstOf(costs, count); };
  const auto measure = [&](const std::vector<NodeId>& left) {
    const double error = left.size() == costs.size() ? 0 : error_of(Without(plan, left));
    result.trail.push_back({{error, {}, {}}, left.size(), 0});
    return error;
  };
  // `enough` layers are, `few` are not.
  size_t few = 0;
  size_t enough = costs.size();
  result.error = measure({});
  if (result.error <= max_error) enough = 0;
  // Mostly a few are enough: 1, 2, 4, ...
  for (size_t count = 1; count < enough; count *= 2) {
    const double error = measure(first(count));
    if (error <= max_error) {
      enough = count;
      result.error = error;
      break;
    }
    few = count;
  }
  if (enough == costs.size()) result.error = 0;
  while (enough > few + 1) {
    const size_t middle = (few + enough) / 2;
    const double error = measure(first(middle));
    (error <= max_error ? enough : few) = middle;
    if (error <= max_error) result.error = error;
  }
  result.left_float = first(enough);
  for (size_t i = enough, tried = 0; i-- > 0 && tried < kMostPutBack && result.left_float.size() > 1;
       ++tried) {
    std::vector<NodeId> fewer = result.left_float;
    std::erase(fewer, costs[i].node);
    const double error = measure(fewer);
    if (error > max_error) continue;
    result.left_float = std::move(fewer);
    result.error = error;
  }
  result.plan = Without(std::move(plan), result.left_float);
  return result;
}

SearchResult LeaveFloatWithin(const FormatPlan& plan, std::vector<LayerCost> costs,
                              const std::function<bool(const FormatPlan&, BudgetCost&)>& fits) {
  SortByCost(costs);
  SearchResult result;
  const auto try_first = [&](size_t count) {
    SearchStep step;
    step.left_float = count;
    const bool fit = fits(Without(plan, FirstOf(costs, count)), step);
    result.trail.push_back(step);
    return fit;
  };
  size_t most = 0;
  if (try_first(0)) {
    for (size_t beyond = costs.size() + 1; beyond > most + 1;) {
      const size_t middle = (most + beyond) / 2;
      (try_first(middle) ? most : beyond) = middle;
    }
  }
  result.left_float = FirstOf(costs, most);
  result.plan = Without(plan, result.left_float);
  return result;
}

SearchResult Narrow(const FormatPlan& plan, Format narrower, std::vector<NarrowerLayer> layers,
                    const std::function<bool(const FormatPlan&, BudgetCost&)>& fits) {
  std::erase_if(layers, [](const NarrowerLayer& layer) { return layer.saved <= 0; });
  std::sort(layers.begin(), layers.end(), [](const NarrowerLayer& a, const NarrowerLayer& b) {
    const double left = a.error / static_cast<double>(a.saved);
    const double right = b.error / static_cast<double>(b.saved);
    return std::tuple(left, -a.saved, a.node) < std::tuple(right, -b.saved, b.node);
  });
  SearchResult result;
  const auto first = [&](size_t count) {
    FormatPlan narrowed = plan;
    for (size_t i = 0; i < count; ++i) narrowed[layers[i].node] = narrower;
    return narrowed;
  };
  size_t enough = layers.size();
  size_t few = std::min<size_t>(1, enough);
  while (enough > few) {
    const size_t middle = (few + enough) / 2;
    SearchStep step;
    step.narrowed = middle;
    const bool fit = fits(first(middle), step);
    result.trail.push_back(step);
    (fit ? enough : few) = fit ? middle : middle + 1;
  }
  result.plan = first(enough);
  return result;
}

}  // namespace skiff
