/// How much an operator has to do, before it runs: a bound for what a small file may ask for, no forecast.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// What conversion may compute ahead of a device, and so much for each byte of constants: about two seconds,
/// and for a large net a part of what its conversion takes anyway.
inline constexpr int64_t kMostStepsAhead = int64_t{1} << 33;
inline constexpr int64_t kStepsAheadPerByte = 256;

/// Multiply-adds and bytes moved, and for windows, and what may look at all of one operand for each element
/// of another, those looks. An input that is absent is null.
uint64_t StepsOf(OpCode op, const AttrStorage& attrs, const std::vector<const TensorView*>& inputs,
                 const std::vector<TensorView>& outputs);

/// The same of elements that are there.
uint64_t StepsOf(OpCode op, const AttrStorage& attrs, const std::vector<const TensorData*>& inputs,
                 const std::vector<TensorView>& outputs);

}  // namespace skiff
