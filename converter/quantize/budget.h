/// From the budgets that a caller asks for to the plan that keeps them.
#pragma once

#include <map>
#include <vector>

#include "quantize/calibrated_net.h"
#include "quantize/search.h"

namespace skiff {

/// Every budget of the options in turn: bytes that the format alone does not keep, then the error, or, where
/// none is asked for, as little of it as the others leave. `alone`: what each layer costs. Fills in the
/// result's plan, layers left float and trail. Throws kInvalidArgument without calls.
SearchResult KeepBudgets(CalibratedNet& net, FormatPlan plan, const std::map<NodeId, LayerCost>& alone);

}  // namespace skiff
