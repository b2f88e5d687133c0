/// A tensor as [outer, reduced, inner].
#pragma once

#include <cstddef>
#include <cstdint>

#include "skiff/tensor.h"

namespace skiff::xnnpack {

struct ReductionExtents {
  size_t outer = 1;
  size_t reduced = 1;
  size_t inner = 1;

  /// False where the reduced axes (bits of `mask`) are no neighbours; axes of extent 1 belong to either kind.
  bool Set(const Shape& shape, uint32_t mask) {
    int first = shape.rank();
    int end = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      if (((mask >> i) & 1u) == 0 || shape[i] == 1) continue;
      if (i < first) first = i;
      end = i + 1;
    }
    if (end == 0) first = 0;
    for (int i = first; i < end; ++i) {
      if (((mask >> i) & 1u) == 0 && shape[i] != 1) return false;
    }
    outer = static_cast<size_t>(shape.ElementsBetween(0, first));
    reduced = static_cast<size_t>(shape.ElementsBetween(first, end));
    inner = static_cast<size_t>(shape.ElementsBetween(end, shape.rank()));
    return true;
  }
};

}  // namespace skiff::xnnpack
