/// What became of each layer, for reports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quantize/calibrated_net.h"

namespace skiff {

/// Of a node's constants, with their scales, as the file will have them in this format.
int64_t ConstantBytes(const Graph& graph, NodeId id, Format format);

/// Why layers are float, where there is more to say than that their neighbours are.
using WhyFloat = std::map<NodeId, std::string>;

/// Rows of the layers, in their order. `quantized`: the graph of the plan; `alone`: what each layer costs, as
/// far as it was measured.
std::vector<QuantizedLayer> DescribeLayers(const CalibratedNet& net, const std::vector<Layer>& layers,
                                           const FormatPlan& plan, const Graph& quantized,
                                           const WhyFloat& why_float,
                                           const std::map<NodeId, LayerCost>& alone);

}  // namespace skiff
