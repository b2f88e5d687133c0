/// Sums of convolutions of one tensor.
#pragma once

#include "graph/graph.h"

namespace skiff {

/// An Add or Sub of two convolutions of one picture, or of one and the picture's own channels times a number
/// each, is one convolution, whose weights are the sums or differences of theirs: the branches that nets are
/// trained with (X. Ding et al., RepVGG, 2021). True where the node is gone.
bool MergeSumOfConvolutions(Graph& graph, NodeId id);

}  // namespace skiff
