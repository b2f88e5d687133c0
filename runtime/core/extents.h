/// Sizes that a file or a caller asks for: what none may exceed, and sums and products that cannot wrap
/// around. Whatever is allocated, copied or placed by such numbers has passed here.
#pragma once

#include <cstdint>

#include "skiff/span.h"
#include "skiff/tensor.h"

namespace skiff {

/// No tensor and no arena is larger, so that offsets inside of them, and sums of a few of them, fit 63 bits.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;
/// A tensor without elements has no bytes, but kernels may still walk its other extents: their product, with
/// the element's size.
inline constexpr int64_t kMaxEmptyVolume = int64_t{1} << 28;

/// Why no tensor has these extents, for a sentence that names it: "has ..."; null where one can.
const char* WhyNoTensor(DType dtype, Span<const int64_t> extents);
inline const char* WhyNoTensor(DType dtype, const Shape& shape) {
  return WhyNoTensor(dtype, Span<const int64_t>(shape.begin(), static_cast<size_t>(shape.rank())));
}

/// Whether one piece of memory can have so many bytes here; on a machine of 32 bits, fewer than a file may
/// name.
bool IsAddressable(uint64_t bytes);

/// The largest number where the result does not fit.
inline uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
inline uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace skiff
