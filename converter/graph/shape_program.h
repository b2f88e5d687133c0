/// Which numbers must be known before a run: those that decide shapes.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Nodes whose results decide shapes, and all that these need: up to Shape, constants and graph inputs. By
/// NodeId.
std::vector<bool> ShapeProgram(const Graph& graph);

/// By input of the node: whether its elements decide a shape, that of an output, or one inside of the node's
/// bodies. All at once, because whoever asks for one looks through the bodies.
std::vector<bool> NeededInputs(const Node& node);

/// The same of input `i` alone.
bool NeedsValues(const Node& node, size_t i);

}  // namespace skiff
