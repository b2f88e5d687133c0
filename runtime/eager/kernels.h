/// Reference kernels: plain loops that follow each operator's specification, accumulate floating point in
/// double and integers exactly, and allocate nothing. They are the oracle of every test and the fallback of
/// every delegate.
#pragma once

#include "ops/op.h"

namespace skiff {

/// Of operators with bodies, which the runtime runs itself (session/control_segment.h).
inline constexpr KernelFn KernelNone = nullptr;

// Elementwise.
Status KernelUnary(const KernelArgs& args);
Status KernelCast(const KernelArgs& args);
Status KernelBinary(const KernelArgs& args);
Status KernelCompare(const KernelArgs& args);
Status KernelWhere(const KernelArgs& args);

// Windows and products.
Status KernelConv2d(const KernelArgs& args);
Status KernelConvTranspose2d(const KernelArgs& args);
Status KernelMaxPool2d(const KernelArgs& args);
Status KernelAveragePool2d(const KernelArgs& args);
Status KernelResize2d(const KernelArgs& args);
Status KernelMatMul(const KernelArgs& args);
Status KernelFullyConnected(const KernelArgs& args);

// Reductions and normalisations.
Status KernelSoftmax(const KernelArgs& args);
Status KernelLayerNorm(const KernelArgs& args);
Status KernelBatchNorm(const KernelArgs& args);
Status KernelReduce(const KernelArgs& args);

// Shapes and movement.
Status KernelShape(const KernelArgs& args);
Status KernelCopy(const KernelArgs& args);
Status KernelCodes(const KernelArgs& args);
Status KernelTranspose(const KernelArgs& args);
Status KernelConcat(const KernelArgs& args);
Status KernelSplit(const KernelArgs& args);
Status KernelSlice(const KernelArgs& args);
Status KernelGather(const KernelArgs& args);
Status KernelLookup(const KernelArgs& args);
Status KernelPad(const KernelArgs& args);
Status KernelExpand(const KernelArgs& args);
Status KernelTile(const KernelArgs& args);
Status KernelFill(const KernelArgs& args);
Status KernelRange(const KernelArgs& args);
Status KernelChannelShuffle(const KernelArgs& args);

// Indices, order, scans.
Status KernelTest(const KernelArgs& args);
Status KernelFakeQuantize(const KernelArgs& args);
Status KernelReducePrecision(const KernelArgs& args);
Status KernelArg(const KernelArgs& args);
Status KernelTopK(const KernelArgs& args);
Status KernelCumSum(const KernelArgs& args);
Status KernelGatherElements(const KernelArgs& args);
Status KernelGatherND(const KernelArgs& args);
Status KernelScatterElements(const KernelArgs& args);
Status KernelScatterND(const KernelArgs& args);
Status KernelReverseSequence(const KernelArgs& args);
Status KernelTrilu(const KernelArgs& args);
Status KernelNonZero(const KernelArgs& args);
Status KernelNonMaxSuppression(const KernelArgs& args);
Status KernelUnique(const KernelArgs& args);

Status KernelRecurrent(const KernelArgs& args);

Status KernelDet(const KernelArgs& args);
Status KernelRandom(const KernelArgs& args);
Status KernelTreeEnsemble(const KernelArgs& args);

// Effects.
Status KernelPrint(const KernelArgs& args);
Status KernelAssert(const KernelArgs& args);
Status KernelCheckNumerics(const KernelArgs& args);

// The application's own.
Status KernelCustom(const KernelArgs& args);

// Sampling.
Status KernelMaxPool2dIndices(const KernelArgs& args);
Status KernelGridSample2d(const KernelArgs& args);
Status KernelRoiAlign(const KernelArgs& args);

}  // namespace skiff
