/// Channels of uneven ranges share one scale of codes, in which the small ones are coarse. Between products
/// the channels can be made even without a change of what the net computes (Nagel et al., 2019; Xiao et al.,
/// 2023).
#pragma once

#include <limits>
#include <vector>

#include "graph/graph.h"
#include "quantize/insert.h"

namespace skiff {

/// Values whose channels can be divided by the same numbers: products make them, products alone read them,
/// and what lies between them does with a multiple of a channel as with the channel (residual sums, too), as
/// long as no number is beyond the bound.
struct EvenGroup {
  std::vector<NodeId> from;
  std::vector<ValueId> values;
  std::vector<NodeId> to;
  double bound = std::numeric_limits<double>::infinity();  ///< Of activations between them, such as ReLU6.
};
std::vector<EvenGroup> FindGroups(const Graph& graph);

/// Divides each channel of the groups by a number, and multiplies the weights that read it: all ranges become
/// equal where each channel of the next products has a scale of its own, and half as uneven where they have
/// to be even with the weights. Below a bound, a channel is at most made as large as the bound allows for
/// what was seen of it, and none that reaches it is touched. Returns how many groups were changed. What was
/// seen of the graph's values is not true any more.
int EqualizeChannels(Graph& graph, const Observations& observations);

}  // namespace skiff
