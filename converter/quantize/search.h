/// Which layers stay float or become narrower, so that a net keeps its budgets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// What a plan costs, as far as somebody asked.
struct BudgetCost {
  std::optional<double> error;
  std::optional<uint64_t> bytes;
  std::optional<double> milliseconds;
};

struct SearchStep : BudgetCost {
  size_t left_float = 0;  ///< How many layers, the most expensive first.
  size_t narrowed = 0;    ///< How many have weights of four bits to save bytes, the cheapest first.
};

struct SearchResult {
  FormatPlan plan;
  double error = 0;  ///< Where one was measured.
  std::vector<NodeId> left_float;
  std::vector<SearchStep> trail;
};

/// Takes the layers that cost most out of the plan: as few as are found by bisection to be enough, then puts
/// back, from the cheapest on, those without which the budget is kept as well. `error_of` measures a plan; of
/// the plan without layers it is never asked. The same arguments give the same result.
SearchResult LeaveFloat(FormatPlan plan, std::vector<LayerCost> costs, double max_error,
                        const std::function<double(const FormatPlan&)>& error_of);

/// Takes as many of the layers that cost most out of the plan as `fits` allows, which is asked by bisection;
/// none, where it does not even allow the whole plan. `fits` fills in what it measured.
SearchResult LeaveFloatWithin(const FormatPlan& plan, std::vector<LayerCost> costs,
                              const std::function<bool(const FormatPlan&, BudgetCost&)>& fits);

/// What a layer costs in its narrower format, and saves.
struct NarrowerLayer {
  NodeId node = kNoNode;
  double error = 0;
  int64_t saved = 0;  ///< Bytes.
};

/// Of a plan that does not fit: gives as few layers as are found by bisection to be enough the format
/// `narrower`, those first whose error for each byte that they save is least. All of them, where that is not
/// enough.
SearchResult Narrow(const FormatPlan& plan, Format narrower, std::vector<NarrowerLayer> layers,
                    const std::function<bool(const FormatPlan&, BudgetCost&)>& fits);

}  // namespace skiff
