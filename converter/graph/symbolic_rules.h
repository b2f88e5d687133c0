/// The shape rules of ops.def over expressions.
#pragma once

#include <vector>

#include "graph/dim.h"
#include "ops/op.h"

namespace skiff {

template <>
Status InferContext<Dim>::Error(const char* format, ...) const __attribute__((format(printf, 2, 3)));

/// kInvalidArgument with a message: the types do not fit, or the rule needs a number that is not known.
Status InferSymbolic(InferContext<Dim>& context);

/// Shape arithmetic works on a few numbers; what is longer is data.
inline constexpr int64_t kMaxShapeElements = 64;

}  // namespace skiff
