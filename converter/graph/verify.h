/// Checks that a graph is well formed. It runs after every pass in debug builds and in all pass tests.
#pragma once

#include "graph/graph.h"

namespace skiff {

/// Arity against ops.def, uses and producers consistent, no cycle, no removed node in use, known values typed
/// as the shape rules say, unique names, every output made by something (a function may have none); the same
/// of bodies, and that they fit their node. Throws Error (kInternal) naming the node and the broken rule.
void Verify(const Graph& graph);

/// What is wrong with how many inputs and results a node of an operator has; "": nothing.
std::string DefectOfArity(const OpDef& def, size_t inputs, size_t outputs);

}  // namespace skiff
