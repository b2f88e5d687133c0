/// Depthwise convolution by kernels of our own, where they are faster than XNNPACK's.
#pragma once

#include "delegates/xnnpack/step.h"

namespace skiff::xnnpack {

/// The kernel for a Conv2d node; null where XNNPACK's convolution has to run it.
DepthwiseFn FindDepthwise(const NodeView& node, const Kernels& kernels);
Result<StepPointer> LowerDepthwise(const NodeView& node, const Environment& environment, DepthwiseFn kernel);

}  // namespace skiff::xnnpack
