/// The sizes at which plans for open shapes break, if they break: the ends of every bucket and their
/// neighbours, an odd size inside, and 0 and 1, where broadcasting changes.
#pragma once

#include <cstdint>
#include <vector>

#include "run/model_signature.h"

namespace skiff {

/// Sizes of a signature's Symbols, -1 for those of others, without repetition. For every plan: each Symbol at
/// its edges while the others are inside, and all at their smallest and at their largest.
std::vector<std::vector<int64_t>> SweepSizes(const ModelSignature& signature);

/// The edges of one Symbol: min, min + 1, an odd size inside, max - 1, max; without a maximum min, min + 1,
/// 7, 33, 64; and 0 and 1 where the range has them. In steps of `multiple`, ascending.
std::vector<int64_t> EdgeSizes(int64_t min, int64_t max, int64_t multiple);

}  // namespace skiff
