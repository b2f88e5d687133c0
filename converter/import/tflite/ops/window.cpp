// TensorFlow Lite rows: convolutions.
#include "import/tflite/window.h"

#include "import/tflite/ops.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

void CheckStrides(const TfliteBuilder& b, const Ints& strides, const Ints& dilations) {
  for (const int64_t stride : strides) b.CheckRange("stride", stride, 1);
  for (const int64_t dilation : dilations) b.CheckRange("dilation", dilation, 1);
}

template <class Options>
Conv2dAttrs WindowOf(const TfliteBuilder& b, const Options& options) {
  Conv2dAttrs attrs;
  attrs.strides = {options.stride_h, options.stride_w};
  attrs.dilations = {options.dilation_h, options.dilation_w};
  attrs.auto_pad = PaddingOf(options.padding);
  CheckStrides(b, attrs.strides, attrs.dilations);
  return attrs;
}

/// Weights are [outputs, height, width, inputs per group], which tells the groups.
void BuildConv2d(TfliteBuilder& b) {
  const auto options = b.Options<tflite::Conv2DOptions>();
  const auto [x, weights] = ProductOperands(b, 0, 1);
  Conv2dAttrs attrs = WindowOf(b, options);
  const std::optional<int64_t> channels = b.ExtentOf(x, 3);
  const std::optional<int64_t> per_group = b.ExtentOf(weights, 3);
  if (channels && per_group && *per_group > 0) attrs.groups = *channels / *per_group;
  b.OutputActivated(OpCode::kConv2d, {x, weights, BiasOf(b, 2, x, weights)}, attrs, options.activation);
}

/// Weights are [1, height, width, outputs].
void BuildDepthwiseConv2d(TfliteBuilder& b) {
  const auto options = b.Options<tflite::DepthwiseConv2DOptions>();
  auto [x, weights] = ProductOperands(b, 0, 1);
  weights = PermutedWeights(b, "weights", weights, {3, 1, 2, 0});
  Conv2dAttrs attrs = WindowOf(b, options);
  const std::optional<int64_t> channels = b.ExtentOf(x, 3);
  if (!channels) b.Unsupported("needs to know its number of channels");
  attrs.groups = *channels;
  b.OutputActivated(OpCode::kConv2d, {x, weights, BiasOf(b, 2, x, weights)}, attrs, options.activation);
}

void BuildTransposeConv(TfliteBuilder& b) {
  const auto options = b.Options<tflite::TransposeConvOptions>();
  const auto [x, weights] = ProductOperands(b, 2, 1);
  ConvTranspose2dAttrs attrs;
  attrs.strides = {options.stride_h, options.stride_w};
  CheckStrides(b, attrs.strides, {});
  TransposedExtents extents(b, options.padding, b.Input(0), x, 4);
  for (int axis = 0; axis < 2; ++axis) {
    const std::optional<int64_t> kernel = b.ExtentOf(weights, 1 + axis);
    if (!kernel) b.Unsupported("needs to know the size of its kernel");
    b.CheckRange("kernel", *kernel, 1);
    const TransposedPads pads = extents.PadsOf(1 + axis, attrs.strides[axis], *kernel);
    attrs.pads[axis] = pads.begin;
    attrs.pads[2 + axis] = pads.end;
    attrs.output_pads[axis] = pads.output;
  }
  const std::vector<ValueId> inputs{x, weights, BiasOf(b, 3, x, weights)};
  if (!extents.crops()) return b.OutputActivated(OpCode::kConvTranspose2d, inputs, attrs, options.activation);
  if (!b.IsQuantized(x) || !TfliteBuilder::HasRange(options.activation)) {
    const ValueId full = b.Emit("full", OpCode::kConvTranspose2d, inputs, attrs);
    return b.OutputActivated(extents.Cropped(full), options.activation);
  }
  const ClampAttrs range = TfliteBuilder::RangeOf(options.activation);
  attrs.min = range.min;
  attrs.max = range.max;
  const DeclaredType& declared = b.DeclaredOutput();
  const ValueId full =
      b.EmitQuantized("full", OpCode::kConvTranspose2d, inputs, attrs, declared.dtype, declared.quantization);
  b.Output(OpCode::kIdentity, {extents.Cropped(full)});
}

constexpr TfliteOp kRows[] = {
    {Op::CONV_2D, BuildConv2d, OpCode::kConv2d},
    {Op::DEPTHWISE_CONV_2D, BuildDepthwiseConv2d, OpCode::kConv2d},
    {Op::TRANSPOSE_CONV, BuildTransposeConv, OpCode::kConvTranspose2d},
};

}  // namespace

std::span<const TfliteOp> TfliteWindowOps() { return kRows; }

}  // namespace skiff
