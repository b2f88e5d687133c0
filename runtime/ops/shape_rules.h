/// Shape rules: extents and known values of the inputs in, dtypes and extents of the outputs out. One rule
/// serves the converter, the device and the tests. ops.def says which operator uses which.
#pragma once

#include "ops/op.h"

/// Rules are compiled for one extent type: for numbers in the runtime, for expressions in the converter,
/// which defines this macro.
#ifndef SKIFF_RULE_EXTENT
#define SKIFF_RULE_EXTENT int64_t
#endif
#define SKIFF_INSTANTIATE_RULE(Rule) template Status Rule(InferContext<SKIFF_RULE_EXTENT>& context)

namespace skiff {

// Elementwise.
template <class D>
Status InferSameAsInput(InferContext<D>& context);
template <class D>
Status InferSameAsFloat(InferContext<D>& context);
template <class D>
Status InferFakeQuantize(InferContext<D>& context);
template <class D>
Status InferCast(InferContext<D>& context);
/// Real numbers, which the output's quantisation makes of integers.
template <class D>
Status InferFromCodes(InferContext<D>& context);
/// The result is of the table's type.
template <class D>
Status InferLookup(InferContext<D>& context);
template <class D>
Status InferBroadcast(InferContext<D>& context);  ///< Both dtypes equal.
template <class D>
Status InferBroadcastLeft(InferContext<D>& context);  ///< The result has the left dtype.
template <class D>
Status InferCompare(InferContext<D>& context);  ///< The result is bool.
template <class D>
Status InferWhere(InferContext<D>& context);

template <class D>
Status InferEffect(InferContext<D>& context);
/// Over numbers only; over expressions the converter asks it at a few sizes (graph/custom_types.h).
template <class D>
Status InferCustom(InferContext<D>& context);

// Windows and products.
template <class D>
Status InferConv2d(InferContext<D>& context);
template <class D>
Status InferConvTranspose2d(InferContext<D>& context);
template <class D>
Status InferPool2d(InferContext<D>& context);
template <class D>
Status InferResize2d(InferContext<D>& context);
template <class D>
Status InferMatMul(InferContext<D>& context);
template <class D>
Status InferFullyConnected(InferContext<D>& context);

// Reductions, shapes, movement.
template <class D>
Status InferReduce(InferContext<D>& context);
template <class D>
Status InferSoftmax(InferContext<D>& context);
template <class D>
Status InferLayerNorm(InferContext<D>& context);
template <class D>
Status InferBatchNorm(InferContext<D>& context);
template <class D>
Status InferShape(InferContext<D>& context);
template <class D>
Status InferReshape(InferContext<D>& context);
template <class D>
Status InferFlatten(InferContext<D>& context);
template <class D>
Status InferSqueeze(InferContext<D>& context);
template <class D>
Status InferUnsqueeze(InferContext<D>& context);
template <class D>
Status InferTranspose(InferContext<D>& context);
template <class D>
Status InferChannelShuffle(InferContext<D>& context);
template <class D>
Status InferConcat(InferContext<D>& context);
template <class D>
Status InferSplit(InferContext<D>& context);
template <class D>
Status InferSlice(InferContext<D>& context);
template <class D>
Status InferGather(InferContext<D>& context);
template <class D>
Status InferPad(InferContext<D>& context);
template <class D>
Status InferExpand(InferContext<D>& context);
template <class D>
Status InferTile(InferContext<D>& context);
template <class D>
Status InferFill(InferContext<D>& context);
template <class D>
Status InferRange(InferContext<D>& context);

// Indices, order, scans.
template <class D>
Status InferArg(InferContext<D>& context);
template <class D>
Status InferTopK(InferContext<D>& context);
template <class D>
Status InferCumSum(InferContext<D>& context);
template <class D>
Status InferGatherElements(InferContext<D>& context);
template <class D>
Status InferGatherND(InferContext<D>& context);
template <class D>
Status InferScatterElements(InferContext<D>& context);
template <class D>
Status InferScatterND(InferContext<D>& context);
template <class D>
Status InferReverseSequence(InferContext<D>& context);
template <class D>
Status InferTrilu(InferContext<D>& context);

// How much they return, only the run can tell.
template <class D>
Status InferNonZero(InferContext<D>& context);
template <class D>
Status InferNonMaxSuppression(InferContext<D>& context);
template <class D>
Status InferUnique(InferContext<D>& context);
template <class D>
Status InferTest(InferContext<D>& context);

/// The types of such a node follow from its bodies, which a rule does not see: ShapedPlan and InferTypes ask
/// them.
template <class D>
Status InferBodies(InferContext<D>& context) {
  return context.Error("an operator with bodies has no shape rule of its own");
}

template <class D>
Status InferRecurrent(InferContext<D>& context);

template <class D>
Status InferDet(InferContext<D>& context);
template <class D>
Status InferRandom(InferContext<D>& context);
template <class D>
Status InferTreeEnsemble(InferContext<D>& context);

// Sampling.
template <class D>
Status InferPool2dIndices(InferContext<D>& context);
template <class D>
Status InferGridSample2d(InferContext<D>& context);
template <class D>
Status InferRoiAlign(InferContext<D>& context);

/// Fails where a length of Lstm, Gru or Rnn is outside [0, steps].
Status CheckLengths(OpCode op, const TensorView& lengths, int64_t steps);

/// How many rows of weights a recurrent layer has for each unit of its state.
int GatesOf(OpCode op);

/// No kernel, stride, dilation or pad of a window is larger.
inline constexpr int64_t kMaxWindowParameter = int64_t{1} << 30;

/// Pads (begin, end) of one spatial axis: the explicit ones, or those that `auto_pad` derives from the
/// extent.
struct AxisPads {
  int64_t begin = 0;
  int64_t end = 0;
};
AxisPads ResolvePads(AutoPad auto_pad, int64_t extent, int64_t kernel, int64_t stride, int64_t dilation,
                     int64_t begin, int64_t end);

/// Slice's start, end, step for one axis, clamped to the extent as NumPy and ONNX do it.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};
SliceRange ResolveSlice(int64_t extent, int64_t start, int64_t end, int64_t step);

/// Normalises a possibly negative axis; -1 when it is outside [-rank, rank).
int NormalizeAxis(int64_t axis, int rank);

/// Numbers side by side for which a FakeQuantize chooses one scale: a row from `axis` on, or a block of it.
int64_t RowOfCodes(const FakeQuantizeAttrs& attrs, const Shape& x);

/// Whether the windows of a Conv2d are the picture's pixels, one by one.
bool IsPointwise(const Conv2dAttrs& attrs, const Shape& weights);

/// Bit i set: axis i is one of `axes`. False when one is out of range or named twice.
bool AxesMask(const Ints& axes, int rank, uint32_t* mask);

/// The same for the axes that a reduction of an input of this rank removes.
bool ReducedAxes(const ReduceAttrs& attrs, int rank, uint32_t* mask);

}  // namespace skiff
