/// What is checked and worked out about a plan once, when it is loaded, whatever its shapes will be.
#pragma once

#include "plan/plan_data.h"

namespace skiff {

/// Room for a sentence about what is wrong with a plan.
struct PlanMessage {
  char text[512] = "";

  /// Writes the sentence (printf style) and returns kInvalidModel.
  Status Invalid(const char* format, ...) __attribute__((format(printf, 2, 3)));
};

/// Each tensor is written once and before it is read, views are of tensors that can be viewed, and what
/// decides a shape is a constant, a graph input or made by the shape program. Fills infer_order,
/// shape_values, late and shape_inputs.
Status OrderPlan(PlanData& plan, PlanMessage& message);

/// Whether the elements of an input decide a shape before the run: of an output, or inside of the node's
/// bodies, which are in order.
bool NeedsValues(const PlanNode& node, size_t input);

}  // namespace skiff
