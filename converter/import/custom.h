/// Nodes of the application's own operators, which importers keep as they are.
#pragma once

#include <string>
#include <vector>

#include "graph/custom_operators.h"
#include "import/node_builder.h"

namespace skiff {

/// Makes all outputs of the source node by one Custom node. `stated`: what the file says of each.
void BuildCustom(NodeBuilder& b, const std::string& name, Span<const uint8_t> options,
                 const std::vector<StatedType>& stated);

/// What can be done about an operator that Skiff does not have, beside changing the net; a sentence behind
/// another one.
std::string CustomRemedy(const std::string& name);

}  // namespace skiff
