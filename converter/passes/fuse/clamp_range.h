/// Clamps: their arithmetic, and those that are attributes of another operator (a fused activation).
#pragma once

#include "graph/graph.h"

namespace skiff {

/// One clamp that does what `first` and then `second` do. Each must have min <= max.
ClampAttrs ClampThen(const ClampAttrs& first, const ClampAttrs& second);

/// Whether the operator clamps its result by its attributes min and max.
bool HasFusedClamp(OpCode op);
/// No bounds for an operator without these attributes.
ClampAttrs FusedClamp(const Node& node);
bool HasActivation(const Node& node);
void SetFusedClamp(Node& node, const ClampAttrs& clamp);

}  // namespace skiff
