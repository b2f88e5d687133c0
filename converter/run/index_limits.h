/// What the elements of a model's integer inputs may be where they index another tensor or decide a shape.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/opened_model.h"

namespace skiff {

/// The smallest extent that the elements of `tensor` index, where some node uses them so. `shapes`: of each
/// tensor of the plan; an open extent, -1, limits nothing.
std::optional<int64_t> IndexLimit(const PlanData& plan, const std::vector<Shape>& shapes, int32_t tensor);

/// Elements of a shape input that its operator takes: uniform in [low, high], the first one as said.
struct ShapeInputValues {
  int64_t low = 0;
  int64_t high = 0;
  std::optional<int64_t> first;
};
/// For input number `input`, named `name`. Throws Error, saying to give a file, where no rule knows.
ShapeInputValues ShapeInputValuesOf(const PlanData& plan, size_t input, const std::string& name);

}  // namespace skiff
