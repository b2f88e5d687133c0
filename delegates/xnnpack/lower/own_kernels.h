/// Convolutions, pools and products by kernels of our own, where they are faster than XNNPACK's on this CPU.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

/// Pieces of work for each thread, so that one that ends early finds something left.
inline constexpr size_t kTasksOfThread = 3;

inline size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

/// All fields but the addresses, those of the first picture, for a Conv2d node. kUnsupported: pads that no
/// kernel takes.
Status DescribePicture(const NodeView& node, PictureArgs* args);
/// From the addresses of the first picture to those of picture `index`.
void MoveToPicture(size_t index, PictureArgs* args);
/// Lines of the output of one picture, wherever those of both sides lie.
template <class Fn, class Args>
void RunWindowLines(Fn kernel, Args args, size_t stride, const Lines& x, const Lines& y, LineRange lines) {
  args.x = x.at;
  args.x_stride = x.pixel;
  args.x_line = x.line;
  args.x_lines = x.count;
  args.y_stride = y.pixel;
  args.y_line = y.line;
  const long top = args.top;
  while (!lines.empty()) {
    const size_t count = y.Together(lines);
    args.y = y[lines.first];
    args.top = top - static_cast<long>(lines.first * stride);
    kernel(args, 0, count);
    lines.first += count;
  }
}
/// With a stride of 1, outputs at distances of the dilations meet pixels at such distances: they are pictures
/// of their own, over which windows are dense. `first`: of the output, less than the dilations.
/// Without dilations the only one is the picture.
void TakePhase(const size_t (&first)[2], const size_t (&dilations)[2], PictureArgs* args);

/// XNNPACK has depthwise kernels for so many taps, which are a tenth faster with AVX2 than those of any
/// windows.
inline constexpr int64_t kFewTaps = 4;
/// A depthwise Conv2d of one output each, and channels enough.
bool IsDepthwise(const NodeView& node, const Kernels& kernels);
/// One with 3 x 3, 5 x 5 or 7 x 7 weights side by side, and a stride of 1 or 2.
bool IsSquareDepthwise(const NodeView& node, const Kernels& kernels);
/// The kernel for a depthwise Conv2d node of any windows, or one of small groups; null where XNNPACK's
/// convolution has to run it.
DepthwiseFn FindDepthwise(const NodeView& node, const Kernels& kernels);
Result<StepPointer> LowerDepthwise(const NodeView& node, const Environment& environment, DepthwiseFn kernel);

/// Input 0, as rows, times the constant input 1, plus input 2 where there is one.
struct DenseLayer {
  float min = 0;
  float max = 0;
  bool transposed = false;  ///< The weights are [inputs, outputs], else [outputs, inputs].
};
/// The panels [first_panel, end_panel) of these and of biases (or null), as Kernels::dense reads them. `to`:
/// all panels.
void PackPanels(const DenseShape& shape, const Kernels& kernels, const DenseMatrix& matrix, const float* bias,
                size_t first_panel, size_t end_panel, float* to);
/// Inputs 1 and 2, constants, as Kernels::dense reads them, for `groups` products side by side: that of group
/// i is DenseGroupElements() * i elements on. Of `args`, runs and outputs, those of a group, are set. Does
/// nothing once args->weights is.
Status PackDense(const NodeView& node, const Environment& environment, const Kernels& kernels,
                 bool transposed, size_t groups, DenseArgs* args);
/// Those whose vectors are no wider than the outputs need; where wide ones are no faster, those that leave
/// the fewest places empty.
const Kernels& KernelsForOutputs(const Kernels& best, size_t outputs);
size_t DenseGroupElements(const DenseShape& args, const Kernels& kernels);
/// Panels of the outputs; see DenseArgs::weights.
size_t DensePanelCount(const DenseShape& args, const Kernels& kernels);
/// Outputs, with those that do not exist: whole halves of a panel.
size_t DenseColumns(const DenseShape& shape, const Kernels& kernels);
/// How many panels to compute of all rows before the next ones: as many as have weights (`words` of 32 bits
/// for each output) that stay in the first-level cache, and no more than an equal share of `parts`.
size_t DensePanelsAtOnce(const DenseShape& shape, size_t words, const Kernels& kernels, size_t parts);
/// The rows of a block: they stay in a thread's cache from panel to panel. All blocks have nearly as many,
/// and threads as many blocks where these do not become small.
size_t DenseBlockRows(const DenseShape& shape, size_t rows, size_t threads);
bool RunsDense(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerDense(const NodeView& node, const Environment& environment, const DenseLayer& layer);

/// Of a BatchNorm node whose vectors are constants: scales, then biases.
Status ComputeBatchNormFactors(const NodeView& node, FixedArray<float>* factors);
/// x * scale + bias, a number of each for every channel: depthwise Conv2d nodes of one tap, and BatchNorm.
bool RunsScaleRows(const NodeView& node);
Result<StepPointer> LowerScaleRows(const NodeView& node, const Environment& environment);

/// True for a Conv2d node whose windows are rows of a dense layer.
bool RunsDenseConvolution(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerDenseConvolution(const NodeView& node, const Environment& environment);
/// The same by XNNPACK.
Result<StepPointer> LowerXnnpackConvolution(const NodeView& node, const Environment& environment);

/// A Softmax node where there is no kernel for it.
Result<StepPointer> LowerXnnpackSoftmax(const NodeView& node, const Environment& environment);

/// Products of i8 are so much faster than those of f32 that other work pays: instructions multiply four pairs
/// of bytes and add them to a sum.
bool HasFasterSums(const Kernels& kernels);
/// Fewer rows do not fill a tile, and meet each weight too seldom to pay for the second byte that pairs of
/// codes have.
inline constexpr size_t kLeastCodeRows = 12;
/// Of the result: its extents but the last one.
size_t RowsOfProduct(const NodeView& node);
/// True for a product of codes (Conv2d, FullyConnected, MatMul) that kernels of ours may compute; and where
/// they do at this shape.
bool TakesCodeDense(const NodeView& node, const Environment& environment);
bool RunsCodeDense(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerCodeDense(const NodeView& node, const Environment& environment,
                                   const DenseLayer& layer);
/// Whether its kernel multiplies bytes, or i16 that they become.
bool MultipliesBytes(const NodeView& node, const Environment& environment);

/// True for a FullyConnected node of f32 whose constant weights the file holds in four or eight bits.
bool RunsFewBits(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerFewBits(const NodeView& node, const Environment& environment, float min, float max);

/// Depthwise convolutions of codes.
bool RunsCodeDepthwise(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerCodeDepthwise(const NodeView& node, const Environment& environment);
/// Those of them that kernels which multiply bytes compute.
bool RunsByteDepthwise(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerByteDepthwise(const NodeView& node, const Environment& environment);

/// True for a Conv2d node that Winograd's way may make faster; which way it goes is decided for each shape.
bool MayRunWinograd(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerWinograd(const NodeView& node, const Environment& environment);
/// The same of codes.
bool MayRunCodeWinograd(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerCodeWinograd(const NodeView& node, const Environment& environment);
/// A convolution of codes that is XNNPACK's.
Result<StepPointer> LowerXnnpackQuantizedConv2d(const NodeView& node, const Environment& environment);

}  // namespace skiff::xnnpack
