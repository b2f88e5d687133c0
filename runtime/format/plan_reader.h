/// The part of the file's reader that is about plans.
#pragma once

#include "format/checked_file.h"
#include "plan/plan_data.h"

namespace skiff {

/// What a plan's inputs and outputs must be; a body's shapes are compared when they are known (ShapedPlan).
struct PlanPorts {
  Span<const PortInfo> inputs;
  Span<const PortInfo> outputs;
  bool of_body = false;
};

/// Decodes and checks a plan of `file`, whose blobs were checked before.
Status ReadPlan(CheckedFile& file, const format::Plan& from, const PlanPorts& ports, PlanData& to);

}  // namespace skiff
