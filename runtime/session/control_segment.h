/// Runs a node with bodies: If, While and Stage.
#pragma once

#include "session/prepared_plan.h"

namespace skiff {

/// What PrepareControlSegment() makes.
class BodySegment : public PreparedSegment {
 public:
  /// As it is now; null where there is none, also before a body that is shaped in the run was run.
  virtual const PreparedPlan* body(size_t i) const = 0;
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

/// Of a While with loop variables that change their shape: these results lie in buffers of the segment.
Result<std::unique_ptr<PreparedSegment>> PrepareGrowingLoop(ShapedPlan& shaped, uint32_t node,
                                                            const SessionOptions& options,
                                                            DelegateSessions& sessions);

/// Counts an iteration of the loop. kUnsupported where the run has had as many as it may.
Status TakeLoopStep(const PlanNode& node, const RunContext& context);

/// Result `i` of a node is `view` from now on, in memory and shape. kInvalidArgument where the file states
/// another extent: somebody counts on it.
Status TakeLate(ShapedPlan& shaped, const PlanNode& node, size_t i, const TensorView& view);

}  // namespace skiff
