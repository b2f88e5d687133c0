#include "core/extents.h"

#include <algorithm>

#include "core/align.h"

namespace skiff {

const char* WhyNoTensor(DType dtype, Span<const int64_t> extents) {
  const bool empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  // As if each element took a byte at least: a bound for smaller ones, too.
  int64_t volume = (DTypeBits(dtype) + 7) / 8;
  for (const int64_t extent : extents) {
    if (extent < 0) return "has a negative extent";
    // A zero must not hide an overflow of the others: strides are products of them.
    if (__builtin_mul_overflow(volume, extent > 0 ? extent : 1, &volume)) volume = INT64_MAX;
    if (volume <= (empty ? kMaxEmptyVolume : kMaxTensorBytes)) continue;
    return empty ? "has no elements, but extents that are too large" : "has more than 2^46 bytes";
  }
  return nullptr;
}

bool IsAddressable(uint64_t bytes) {
  return bytes <= static_cast<uint64_t>(PTRDIFF_MAX) - kAlignment - kReadableTail;
}

}  // namespace skiff
