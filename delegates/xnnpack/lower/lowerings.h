/// One function for each lowering of lowerings.def.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

// elementwise.cpp
Result<StepPointer> LowerUnary(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerCast(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerNot(const NodeView& node, const Environment& environment);
// quantized/fake_quantize.cpp
Result<StepPointer> LowerFakeQuantize(const NodeView& node, const Environment& environment);
// binary.cpp
Result<StepPointer> LowerBinary(const NodeView& node, const Environment& environment);
// numbers.cpp
Result<StepPointer> LowerArithmetic(const NodeView& node, const Environment& environment);
/// Of one operand.
Result<StepPointer> LowerNumbers(const NodeView& node, const Environment& environment);
// masks.cpp
Result<StepPointer> LowerCompare(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerLogic(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerWhere(const NodeView& node, const Environment& environment);
// conv2d.cpp
Result<StepPointer> LowerConv2d(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerConvTranspose2d(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerBatchNorm(const NodeView& node, const Environment& environment);
// max_pool.cpp
Result<StepPointer> LowerMaxPool2d(const NodeView& node, const Environment& environment);
// pool.cpp
Result<StepPointer> LowerAveragePool2d(const NodeView& node, const Environment& environment);
// resize.cpp
Result<StepPointer> LowerResize2d(const NodeView& node, const Environment& environment);
/// Whether it has no more rows and columns than pictures have: of larger tables no limit would know.
bool IsPicture(const Shape& x, const Shape& y);
Result<StepPointer> LowerMixingResize(const NodeView& node, const Environment& environment);
// grid_sample.cpp
Result<StepPointer> LowerGridSample2d(const NodeView& node, const Environment& environment);
// roi_align.cpp
Result<StepPointer> LowerRoiAlign(const NodeView& node, const Environment& environment);
// linear.cpp
Result<StepPointer> LowerFullyConnected(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerMatMul(const NodeView& node, const Environment& environment);
// reduce.cpp
Result<StepPointer> LowerLayerNorm(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerReduce(const NodeView& node, const Environment& environment);
// rows.cpp
Result<StepPointer> LowerExtremum(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerArg(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerSoftmax(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerLogSoftmax(const NodeView& node, const Environment& environment);
// recurrent.cpp
Result<StepPointer> LowerRecurrent(const NodeView& node, const Environment& environment);
// trees.cpp
Result<StepPointer> LowerTreeEnsemble(const NodeView& node, const Environment& environment);
// gather.cpp
Result<StepPointer> LowerGather(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerGatherND(const NodeView& node, const Environment& environment);
// scatter.cpp
Result<StepPointer> LowerScatterND(const NodeView& node, const Environment& environment);
/// Of GatherElements and ScatterElements.
Result<StepPointer> LowerElements(const NodeView& node, const Environment& environment);
// top_k.cpp
Result<StepPointer> LowerTopK(const NodeView& node, const Environment& environment);
// quantized/table.cpp
Result<StepPointer> LowerLookup(const NodeView& node, const Environment& environment);
// movement.cpp
Result<StepPointer> LowerCopy(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerConcat(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerSplit(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerSlice(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerExpand(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerTile(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerChannelShuffle(const NodeView& node, const Environment& environment);
// pad.cpp
Result<StepPointer> LowerPad(const NodeView& node, const Environment& environment);
// rearrange.cpp
Result<StepPointer> LowerTranspose(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerChannelShuffle32(const NodeView& node, const Environment& environment);

}  // namespace skiff::xnnpack
