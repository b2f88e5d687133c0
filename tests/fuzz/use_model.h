/// Uses all that an opened model offers.
#pragma once

#include "skiff/model.h"

namespace skiff::testing {

/// Each signature on the reference kernels and on the delegates that its plans name, one Session each: at two
/// shapes of each plan, with inputs that are copied, bound to memory of exactly the size that the contract
/// asks for or that cannot be written, or written in place; a run that fails is tried again; outputs are read
/// to their last element. What fails is not told: only that the program survives it counts.
/// SKIFF_FUZZ_VULKAN=1: also on the GPU, where the build and the machine have one.
void UseModel(Model& model);

}  // namespace skiff::testing
