/// Custom operators written in C, as the runtime takes them.
#pragma once

#include "core/fixed_array.h"
#include "skiff/custom_operator.h"
#include "skiff/skiff.h"

namespace skiff {

/// The operator of a C program, which outlives the result. What it lacks, the runtime will say.
CustomOperator ToCustomOperator(const SkiffCustomOperator& given);

/// `count` of them. kInvalidArgument for a null array.
Status ToCustomOperators(const SkiffCustomOperator* given, uint64_t count,
                         FixedArray<CustomOperator>* operators);

}  // namespace skiff
