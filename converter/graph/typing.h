/// Types in a graph: given to nodes one by one, as importers add them and passes walk them, and forgotten
/// where other contracts of the Symbols will hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/node_types.h"

namespace skiff {

/// The node's results have these types.
void SetTypes(Graph& graph, NodeId id, std::vector<ValueType> types);

/// Types a node that has been added behind those that make its inputs, by its shape rule. A list whose
/// elements decide its shape and are known at run time only gets Symbols for them. What the rule refuses has
/// no type, and this is why. A node with bodies is not typed here.
std::optional<Refusal> TypeAddedNode(Graph& graph, NodeId id);

/// Integers that decide a shape and are not known yet: Symbols of any value.
void GiveElements(Graph& graph, ValueId id);

/// Forgets what follows from the types of the graph's inputs, in the graph and its bodies, and all Symbols
/// but the first `symbols`.
void ForgetTypes(Graph& graph, size_t symbols);

}  // namespace skiff
