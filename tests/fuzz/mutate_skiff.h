/// Changes fields of a .skiff file to what they should not be.
#pragma once

#include <random>

#include "model_generated.h"

namespace skiff::testing {

/// One change: of a node, a tensor or a list of some plan or body, of a quantisation, or of what plans say of
/// shapes. None where the model has no plan.
void MutateFields(std::mt19937& random, format::ModelT& model);

}  // namespace skiff::testing
