/// Ranges of a net's values, as far as they depend on each other.
#pragma once

#include <map>

#include "graph/graph.h"
#include "quantize/layers.h"
#include "quantize/observer.h"
#include "quantize/range.h"

namespace skiff {

/// What was seen of each value.
using Observations = std::map<ValueId, Observer>;
using Ranges = std::map<ValueId, Range>;

/// A term of a sum whose result is clamped needs no codes for numbers that the clamp hides whatever the other
/// term is: before a ReLU, what is further below 0 than the other term is ever above. Nothing but the sum may
/// read such a term.
void LimitTerms(const Graph& graph, Ranges& ranges);

/// One range for all values that share codes. What is joined behind the last layers of the plan shares none:
/// each of these results keeps its own steps, and the joining is done on floats.
void ShareRanges(const Graph& graph, const FormatPlan& plan, Ranges& ranges);

}  // namespace skiff
