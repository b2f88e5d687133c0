/// Runs a node with bodies: If and While.
#pragma once

#include "session/prepared_plan.h"

namespace skiff {

/// `node` of the plan of `shaped`, which outlives the segment. The bodies' arenas lie in the node's scratch,
/// their inputs where the node's are; those of a While's loop variables lie in its outputs, which hold the
/// variables from the loop's beginning. Node times in bodies are not recorded.
Result<std::unique_ptr<PreparedSegment>> PrepareControlSegment(ShapedPlan& shaped, uint32_t node,
                                                               Backend backend, DelegateSessions& sessions);

/// The bodies of what PrepareControlSegment() has made.
Span<const PreparedPlan> PreparedBodies(const PreparedSegment& control);

}  // namespace skiff
