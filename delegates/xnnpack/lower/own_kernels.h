/// Convolutions and products by kernels of our own, where they are faster than XNNPACK's on this CPU.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

/// Whether any table of this architecture has such kernels; where none has, none of their steps is linked.
#if defined(__x86_64__)
inline constexpr bool kHasOwnKernels = true;
#else
inline constexpr bool kHasOwnKernels = false;
#endif

/// The kernel for a depthwise Conv2d node; null where XNNPACK's convolution has to run it.
DepthwiseFn FindDepthwise(const NodeView& node, const Kernels& kernels);
Result<StepPointer> LowerDepthwise(const NodeView& node, const Environment& environment, DepthwiseFn kernel);

/// Input 0, as rows, times the constant input 1, plus input 2 where there is one.
struct DenseLayer {
  float min = 0;
  float max = 0;
  bool transposed = false;  ///< The weights are [inputs, outputs], else [outputs, inputs].
};
/// Input 1, a constant, as Kernels::dense reads it, with the bias; of `args`, runs and outputs are set.
/// Does nothing once args->weights is.
Status PackDense(const NodeView& node, const Environment& environment, bool transposed, DenseArgs* args);
/// How many outputs, in whole panels, to compute of all rows before the next outputs: as many as have weights
/// that stay in the first-level cache, and no more than an equal share of `parts`.
size_t OutputsAtOnce(const DenseArgs& args, const Kernels& kernels, size_t parts);
bool RunsDense(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerDense(const NodeView& node, const Environment& environment, const DenseLayer& layer);

/// True for a Conv2d node whose windows are rows of a dense layer.
bool RunsDenseConvolution(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerDenseConvolution(const NodeView& node, const Environment& environment);

}  // namespace skiff::xnnpack
