/// Groups of a convolution of codes that are too small for the vectors of kernels, several as one: what an
/// output does not meet has a weight of 0, and is multiplied in lanes that would be empty.
#pragma once

#include "core/fixed_array.h"
#include "skiff/tensor.h"

namespace skiff::xnnpack {

/// How many groups become one: as many as leave it `most` inputs and outputs at the most.
size_t GroupsToJoin(size_t groups, size_t inputs, size_t outputs, size_t most);

/// Weights [outputs, y, x, inputs of a group] of i8 without a zero point, as those of groups that are
/// `joined` of them.
Status JoinWeights(const TensorView& weights, size_t groups, size_t joined, FixedArray<int8_t>* to);

}  // namespace skiff::xnnpack
