/// Which steps may compute rows as soon as the step before has written them, while these are in the cache.
#pragma once

#include "skiff/delegate.h"

namespace skiff::xnnpack {

/// Whether memory allows that `next` computes each row of its output when `chain`, nodes that follow one
/// another in this way, has only got as far as that row. Tensors have their addresses.
bool MayFollow(Span<const NodeTypes> chain, const NodeTypes& next);

}  // namespace skiff::xnnpack
