/// What plans can have in this build (SKIFF_OPERATORS): code for the rest is dropped where these are asked.
#pragma once

#include "core/features.h"
#include "ops/build_ops.h"
#include "plan/plan_data.h"

namespace skiff {

/// Whether the runtime itself runs scatters that write into a variable's own memory.
inline constexpr bool kBuildWritesStates =
    BuildHas(Feature::kVariables) && (BuildHas(OpCode::kScatterElements) || BuildHas(OpCode::kScatterND));

inline int32_t PlanData::StateOf(int32_t tensor) const {
  return kBuildWritesStates ? states[static_cast<size_t>(tensor)] : TensorPlacement::kRoot;
}

inline bool PlanData::WritesState(const PlanNode& node) const {
  if (!kBuildWritesStates || node.outputs.size() != 1) return false;
  const int32_t state = StateOf(node.outputs[0]);
  return state != TensorPlacement::kRoot && placements[static_cast<size_t>(node.outputs[0])].buffer == state;
}

inline bool PlanData::IsLate(int32_t tensor) const {
  return BuildHas(OpCode::kStage) && late[static_cast<size_t>(tensor)];
}

}  // namespace skiff
