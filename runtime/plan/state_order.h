/// Variables that are updated where they lie: which tensors of a plan share memory with a variable, and
/// whether each of them is read only while it is what that memory holds.
#pragma once

#include "plan/plan_order.h"

namespace skiff {

/// What a plan's inputs and outputs must be; a body's shapes are compared when they are known (ShapedPlan).
struct PlanPorts {
  Span<const PortInfo> inputs;
  Span<const PortInfo> outputs;
  bool of_body = false;
};

/// Of an ordered plan; fills PlanData::states. A scatter may write into the memory of its variable where the
/// plan is one for the CPU, nobody behind it reads what was there before, no output of the caller lies there,
/// and the variable's next value is what the memory holds in the end. Such scatters, and no other node
/// without bodies, are segments of kControl.
Status FindStates(PlanData& plan, const PlanPorts& ports, PlanMessage& message);

}  // namespace skiff
