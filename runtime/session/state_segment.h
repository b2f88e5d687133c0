/// A scatter that writes its updates into the memory of its variable, and can take that back.
#pragma once

#include "plan/shaped_plan.h"

namespace skiff {

class StateSegment : public PreparedSegment {
 public:
  /// After a Run() that went well: the variable's memory is as it was before. Inputs may be gone.
  virtual void Restore() = 0;
};

/// `node` of the plan of `shaped`, which outlives the segment: PlanData::WritesState(). `kept_apart`: the
/// output has memory of its own, and the variable is only read.
Result<std::unique_ptr<StateSegment>> PrepareStateSegment(ShapedPlan& shaped, uint32_t node, bool kept_apart);

}  // namespace skiff
