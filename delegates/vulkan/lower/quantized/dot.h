/// How products of codes are multiplied: each code by itself, or four at a time by integer dot products.
#pragma once

#include "delegates/vulkan/lower/quantized/lowerings.h"

namespace skiff::vulkan {

/// What the shaders are told of it (kHints of shaders/quantized_product.glsl and integer_dot.glsl).
enum DotHints : uint32_t { kPointHint = 1, kFlipsX = 2, kFlipsW = 4, kHasZeros = 8 };

struct DotChoice {
  bool is_used = false;
  uint32_t hints = 0;
};

/// Of the dot products that there are (DotProducts), the one with the least beside it. Depends on nothing
/// that varies inside a bucket.
DotChoice ChooseDot(uint32_t dots, const TensorView& x, const TensorView& w);

}  // namespace skiff::vulkan
