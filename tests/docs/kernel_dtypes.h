/// The dtypes that reference kernels take, found out by running them.
#pragma once

#include <vector>

#include "ops/op.h"

namespace skiff {

/// The dtypes for which a smallest call of the operator succeeds. Empty where no kernel is built.
std::vector<DType> KernelDTypes(OpCode op);

}  // namespace skiff
