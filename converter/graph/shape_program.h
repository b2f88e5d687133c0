/// Which numbers must be known before a run: those that decide shapes.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Nodes whose results decide shapes, and all that these need: up to Shape, constants and graph inputs. By
/// NodeId.
std::vector<bool> ShapeProgram(const Graph& graph);

/// Whether the elements of input `i` decide a shape: that of an output, or one inside of the node's bodies.
bool NeedsValues(const Node& node, size_t i);

}  // namespace skiff
