/// Which layers stay float, so that an error is within its budget.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quantize/layers.h"

namespace skiff {

/// What a layer costs when it alone is quantised.
struct LayerCost {
  NodeId node = kNoNode;
  double error = 0;
  double tie = 0;  ///< Decides between equal errors.
};

struct SearchStep {
  size_t left_float = 0;  ///< How many layers, the most expensive first.
  double error = 0;
};

struct SearchResult {
  FormatPlan plan;
  double error = 0;
  std::vector<NodeId> left_float;
  std::vector<SearchStep> trail;
};

/// Takes the layers that cost most out of the plan: as few as are found by bisection to be enough, then puts
/// back, from the cheapest on, those without which the budget is kept as well. `error_of` measures a plan; of
/// the plan without layers it is never asked. The same arguments give the same result.
SearchResult LeaveFloat(FormatPlan plan, std::vector<LayerCost> costs, double max_error,
                        const std::function<double(const FormatPlan&)>& error_of);

}  // namespace skiff
