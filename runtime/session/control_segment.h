/// Runs a node with bodies: If, While and Stage.
#pragma once

#include "session/prepared_plan.h"

namespace skiff {

/// What PrepareControlSegment() makes.
class BodySegment : public PreparedSegment {
 public:
  /// As they are now; none before the first run of a Stage.
  virtual Span<const PreparedPlan> bodies() const = 0;
};

/// `node` of the plan of `shaped`, which outlives the segment as the options do. The bodies' arenas lie in
/// the node's scratch, their inputs where the node's are; those of a While's loop variables lie in its
/// outputs, which hold the variables from the loop's beginning. Node times in bodies are not recorded.
Result<std::unique_ptr<PreparedSegment>> PrepareControlSegment(ShapedPlan& shaped, uint32_t node,
                                                               const SessionOptions& options,
                                                               DelegateSessions& sessions);

/// Of a Stage, whose body is shaped in the run. Its results are the tensors of the body.
Result<std::unique_ptr<PreparedSegment>> PrepareStageSegment(ShapedPlan& shaped, uint32_t node,
                                                             const SessionOptions& options,
                                                             DelegateSessions& sessions);

/// Result `i` of a node is `view` from now on, in memory and shape. kInvalidArgument where the file states
/// another extent: somebody counts on it.
Status TakeLate(ShapedPlan& shaped, const PlanNode& node, size_t i, const TensorView& view);

/// The bodies of what PrepareControlSegment() has made.
inline Span<const PreparedPlan> PreparedBodies(const PreparedSegment& control) {
  return static_cast<const BodySegment&>(control).bodies();
}

}  // namespace skiff
