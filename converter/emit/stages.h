/// Cuts a graph where shapes follow from elements that it computes itself.
#pragma once

#include "graph/graph.h"

namespace skiff {

/// What needs such elements, and all that follows from it, becomes the body of a Stage (ops.def), the graph's
/// last node; in this body it may happen again. Bodies of If and While are cut, too. A graph whose shapes are
/// all known before the run stays as it is.
void SplitStages(Graph& graph);

}  // namespace skiff
