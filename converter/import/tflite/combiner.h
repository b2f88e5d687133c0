/// What a subgraph of two scalars does that an operator runs for all elements.
#pragma once

#include <optional>

#include "import/tflite/file.h"
#include "ops/op_codes.h"

namespace skiff {

/// Add, Mul, Min, Max, And or Or of its two inputs, alone and in any order; Identity where the result is
/// input 1. Nothing for a subgraph that does anything else.
std::optional<OpCode> CombinerOf(const TfliteFile& file, const tflite::SubGraph& graph);

}  // namespace skiff
