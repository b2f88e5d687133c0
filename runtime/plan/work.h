/// What a node has to do at the present shapes: for profiles, and for deciding whether threads are worth
/// waking.
#pragma once

#include "skiff/delegate.h"

namespace skiff {

struct Work {
  uint64_t multiply_adds = 0;  ///< Of convolutions and matrix products; 0 for others.
  uint64_t bytes = 0;          ///< Read and written, constants included.
};

Work WorkOf(const PlanNode& node, Span<const PlanTensor> tensors);

}  // namespace skiff
