#include "quantize/search.h"

#include <algorithm>
#include <tuple>

namespace skiff {
namespace {

/// Layers that are tried to be put back.
constexpr size_t kMostPutBack = 32;

FormatPlan Without(FormatPlan plan, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) plan.erase(node);
  return plan;
}

}  // namespace

SearchResult LeaveFloat(FormatPlan plan, std::vector<LayerCost> costs, double max_error,
                        const std::function<double(const FormatPlan&)>& error_of) {
  std::sort(costs.begin(), costs.end(), [](const LayerCost& a, const LayerCost& b) {
    return std::tuple(-a.error, -a.tie, a.node) < std::tuple(-b.error, -b.tie, b.node);
  });
  SearchResult result;
  const auto first = [&](size_t count) {
    std::vector<NodeId> nodes;
    for (size_t i = 0; i < count; ++i) nodes.push_back(costs[i].node);
    return nodes;
  };
  const auto measure = [&](const std::vector<NodeId>& left) {
    const double error = left.size() == costs.size() ? 0 : error_of(Without(plan, left));
    result.trail.push_back({left.size(), error});
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

}  // namespace skiff
