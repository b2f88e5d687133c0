/// Axes that several operands are walked along, for push constants: axes of one element are left out, and
/// neighbours that all operands cross in one stride become one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace skiff::vulkan {

template <size_t kOperands, uint32_t kMost>
struct Axes {
  uint32_t rank = 0;
  uint32_t extents[kMost] = {};
  int32_t strides[kOperands][kMost] = {};

  /// From the outermost axis to the innermost. False: there are too many.
  bool Append(int64_t extent, const std::array<int64_t, kOperands>& step) {
    if (extent == 1) return true;
    if (rank > 0 && Continues(extent, step)) {
      extents[rank - 1] *= static_cast<uint32_t>(extent);
    } else {
      if (rank == kMost) return false;
      extents[rank++] = static_cast<uint32_t>(extent);
    }
    for (size_t i = 0; i < kOperands; ++i) strides[i][rank - 1] = static_cast<int32_t>(step[i]);
    return true;
  }

 private:
  bool Continues(int64_t extent, const std::array<int64_t, kOperands>& step) const {
    for (size_t i = 0; i < kOperands; ++i) {
      if (strides[i][rank - 1] != step[i] * extent) return false;
    }
    return true;
  }
};

}  // namespace skiff::vulkan
