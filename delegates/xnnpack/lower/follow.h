/// Which steps may compute rows as soon as the step before has written them, while these are in the cache.
#pragma once

#include "skiff/delegate.h"

namespace skiff::xnnpack {

/// Whether a has elements, and these lie between the first and the last element of b.
bool Overlap(const TensorView& a, const TensorView& b);

/// Whether memory allows that `next` computes each row of its output when `chain`, nodes that follow one
/// another in this way, has only got as far as that row. Tensors have their addresses.
bool MayFollow(Span<const NodeTypes> chain, const NodeTypes& next);

}  // namespace skiff::xnnpack
