/// The part of the file's reader that is about plans.
#pragma once

#include "format/checked_file.h"
#include "plan/state_order.h"

namespace skiff {

/// Decodes and checks a plan of `file`, whose blobs were checked before.
Status ReadPlan(CheckedFile& file, const format::Plan& from, const PlanPorts& ports, PlanData& to);

}  // namespace skiff
