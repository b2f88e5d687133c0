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

/// Where a rule needs numbers that are not known: the dtype and rank of the only result. False for operators
/// whose results have no rank that could be told.
bool OpaqueType(const InferContext<Dim>& context, DType* dtype, int* rank);

/// Shape arithmetic works on a few numbers; what is longer is data.
inline constexpr int64_t kMaxShapeElements = 64;

/// The elements of the first result as expressions over those of the inputs (null: unknown, or absent).
/// `computed` is false when they are not known or the operator is none of shape arithmetic.
using KnownInputs = std::vector<const std::vector<Dim>*>;
std::vector<Dim> SymbolicElements(const InferContext<Dim>& context, const KnownInputs& known, bool* computed);

}  // namespace skiff
