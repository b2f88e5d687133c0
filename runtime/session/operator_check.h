/// Whether a build that leaves operators out (SKIFF_OPERATORS) can run a plan: asked when a Session is made,
/// so that no run ends in the middle.
#pragma once

#include "plan/plan_data.h"
#include "skiff/session.h"

namespace skiff {

/// kUnsupported, naming the node and its operator, when code is missing that a run needs, or may need: a
/// lowering may refuse a shape that only a call decides, and the reference kernel then takes over.
Status CheckOperators(const PlanData& plan, Backend backend, const Model& model);

}  // namespace skiff
