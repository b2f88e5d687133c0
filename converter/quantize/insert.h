/// Writes a plan of formats into a float graph, as frameworks do: Quantize and Dequantize where values are
/// rounded, Dequantize behind constants. The passes make operators over integers of that.
#pragma once

#include <map>

#include "graph/graph.h"
#include "quantize/layers.h"
#include "quantize/observer.h"
#include "quantize/range.h"
#include "quantize/rounded_layers.h"

namespace skiff {

/// What was seen of each value.
using Observations = std::map<ValueId, Observer>;
using Ranges = std::map<ValueId, Range>;

/// The values that a plan rounds.
std::vector<ValueId> RoundedValues(const Graph& graph, const FormatPlan& plan);

/// The graph is as the passes leave it before they fold quantised nets. Every value that the plan rounds
/// needs a range. Weights that are not among those `rounded` are rounded to the nearest code. What the nodes
/// were for (names, sources) is kept.
void InsertQuantization(Graph& graph, const FormatPlan& plan, const Ranges& ranges,
                        const RoundedLayers& rounded, const WeightOptions& options = {});

/// One range for all values that share codes. What is joined behind the last layers of the plan shares none:
/// each of these results keeps its own steps, and the joining is done on floats.
void ShareRanges(const Graph& graph, const FormatPlan& plan, Ranges& ranges);

}  // namespace skiff
