/// What pools have in common.
#pragma once

#include "delegates/xnnpack/lower/convolution.h"

namespace skiff::xnnpack {

/// What decides the operator; XNNPACK rebuilds its indirection only for a new height, width or number of
/// channels.
struct PoolGeometry {
  uint32_t pads[4] = {};  ///< Top, right, bottom, left.
  size_t channels = 0;
  size_t input_stride = 0;
  size_t output_stride = 0;
  bool operator==(const PoolGeometry&) const = default;
  bool any_pads() const { return (pads[0] | pads[1] | pads[2] | pads[3]) != 0; }
};

/// False where XNNPACK has no such pool.
bool DescribePool(const Pool2dAttrs& attrs, const TensorView& x, const TensorView& y, PoolGeometry* g);

/// What ceil mode adds beyond the padding does not count in averages: where there is any, the divisors of
/// windows differ although pads count.
bool ReachesBeyondPads(const Pool2dAttrs& attrs, const TensorView& x, const PoolGeometry& g);

/// On kernels of ours, of f32 and f16.
Result<StepPointer> LowerOwnPool(const NodeView& node, const Environment& environment);

inline bool Agrees(const TensorView& y, size_t height, size_t width) {
  return height == static_cast<size_t>(y.shape[1]) && width == static_cast<size_t>(y.shape[2]);
}

}  // namespace skiff::xnnpack
