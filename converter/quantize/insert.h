/// Writes a plan of formats into a float graph, as frameworks do: Quantize and Dequantize where values are
/// rounded, Dequantize behind constants. The passes make operators over integers of that.
#pragma once

#include <map>

#include "graph/graph.h"
#include "quantize/layers.h"
#include "quantize/observer.h"
#include "quantize/range.h"
#include "quantize/weights.h"

namespace skiff {

/// What was seen of each value.
using Observations = std::map<ValueId, Observer>;
using Ranges = std::map<ValueId, Range>;

struct InsertOptions {
  WeightScales scales = WeightScales::kLeastSquares;
  /// What rounded weights add to a product on average goes into its bias (Nagel et al., 2019).
  bool correct_bias = true;
  int64_t block = 32;  ///< Neighbours that share a scale of Format::kWeights4.
};

/// The values that a plan rounds.
std::vector<ValueId> RoundedValues(const Graph& graph, const FormatPlan& plan);

/// The graph is as the passes leave it before they fold quantised nets. Every value that the plan rounds
/// needs a range. What the nodes were for (names, sources) is kept.
void InsertQuantization(Graph& graph, const FormatPlan& plan, const Ranges& ranges,
                        const Observations& observations, const InsertOptions& options = {});

/// One range for all values that share codes.
void ShareRanges(const Graph& graph, Ranges& ranges);

}  // namespace skiff
