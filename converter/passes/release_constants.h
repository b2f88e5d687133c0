/// Memory of constants that passes have replaced, as transposed weights do: a graph keeps its values.
#pragma once

#include "graph/graph.h"

namespace skiff {

/// Gives back the elements of a constant that nothing reads any more; others stay as they are.
void ReleaseIfUnused(Graph& graph, ValueId constant);
void ReleaseUnusedConstants(Graph& graph);

}  // namespace skiff
