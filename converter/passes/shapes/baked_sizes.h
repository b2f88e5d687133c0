/// Sizes that an exporter has written into a net in place of an open dimension, as the constant target of a
/// Reshape. The file says that any size will do, and the net then takes the exporter's alone.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// A sentence for each dimension that the inputs leave open and of which the shape rules take one size alone,
/// among some of the contract that are tried. What only a run can refuse is not seen, nor is a size that
/// changes what the net computes but no shape, as the 1 of a target [1, -1]. Where none of the contract is
/// taken, others are tried; nothing where none of those is.
std::vector<std::string> BakedSizes(const Graph& graph);

}  // namespace skiff
