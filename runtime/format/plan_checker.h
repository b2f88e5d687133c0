/// The last check of a plan from a file: types, placement in the arena, and the order of definition.
#pragma once

#include "format/model_data.h"

namespace skiff {

/// kInvalidModel with a sentence in `message`: a tensor lies outside of the arena, a node reads what nobody
/// wrote, output types are not those of the shape rule, a shape input is no constant, or a node's output
/// overlaps its inputs other than as its operator allows. kOutOfMemory is logged.
Status CheckPlan(const PlanData& plan, char* message, size_t message_bytes);

}  // namespace skiff
