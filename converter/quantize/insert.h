/// Writes a plan of formats into a float graph, as frameworks do: Quantize and Dequantize where values are
/// rounded, Dequantize behind constants. The passes make operators over integers of that.
#pragma once

#include "graph/graph.h"
#include "quantize/layers.h"
#include "quantize/rounded_layers.h"
#include "quantize/value_ranges.h"

namespace skiff {

/// The values that a plan rounds.
std::vector<ValueId> RoundedValues(const Graph& graph, const FormatPlan& plan);

/// The graph is as the passes leave it before they fold quantised nets. Every value that the plan rounds
/// needs a range. Weights that are not among those `rounded` are rounded to the nearest code. What the nodes
/// were for (names, sources) is kept.
void InsertQuantization(Graph& graph, const FormatPlan& plan, const Ranges& ranges,
                        const RoundedLayers& rounded, const WeightOptions& options = {});

}  // namespace skiff
