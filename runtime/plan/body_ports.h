/// How the inputs and outputs of a node with bodies (If, While, Stage) belong to those of its bodies. In a
/// plan, its last output is its scratch: bytes in which the arenas of the bodies lie, which never run at the
/// same time.
#pragma once

#include "ops/build_ops.h"
#include "ops/op.h"
#include "plan/built_plan.h"
#include "plan/plan_data.h"
#include "skiff/delegate.h"

namespace skiff {

/// If: then, else. While: condition, body. Stage: the rest of the plan.
inline constexpr size_t kMaxBodies = 2;
inline constexpr size_t BodyCount(OpCode op) { return op == OpCode::kStage ? 1 : kMaxBodies; }

inline bool HasBodies(const PlanNode& node) { return kBuildHasBodies && !node.bodies.empty(); }

/// The input of the node that is the bodies' first one: an If's condition is not passed on.
inline size_t FirstBodyInput(OpCode op) { return op == OpCode::kIf ? 1 : 0; }

/// The outputs but the scratch.
inline Span<const int32_t> BodyResults(const PlanNode& node) {
  return {node.outputs.data(), node.outputs.size() - 1};
}
inline int32_t ScratchOf(const PlanNode& node) { return node.outputs[node.outputs.size() - 1]; }

/// How many of a While's inputs are loop variables: they come first, and each has its result. 0 for others.
inline size_t LoopVariables(const PlanNode& node) {
  return node.op->code == OpCode::kWhile ? BodyResults(node).size() : 0;
}

/// Whether it is a While with a loop variable whose shape changes: some result is late. Its bodies are shaped
/// in the run, like that of a Stage.
inline bool IsShapedInRun(const PlanData& plan, const PlanNode& node) {
  if (!BuildHas(OpCode::kStage) || node.bodies.empty()) return false;
  if (node.op->code == OpCode::kStage) return true;
  if (node.op->code != OpCode::kWhile) return false;
  for (const int32_t result : BodyResults(node)) {
    if (plan.IsLate(result)) return true;
  }
  return false;
}

}  // namespace skiff
