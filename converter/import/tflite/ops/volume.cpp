// TensorFlow Lite rows: convolutions over three axes, of volumes NDHWC.
#include "import/volume.h"

#include "import/tflite/ops.h"
#include "import/tflite/window.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

void CheckWindow(const TfliteBuilder& b, const tflite::Conv3DOptionsT& options) {
  for (const int64_t stride : {options.stride_d, options.stride_h, options.stride_w})
    b.CheckRange("stride", stride, 1);
  for (const int64_t dilation : {options.dilation_d, options.dilation_h, options.dilation_w})
    b.CheckRange("dilation", dilation, 1);
}

/// The kernel's depth, height or width.
int64_t KernelExtent(const TfliteBuilder& b, ValueId weights, int64_t axis) {
  if (b.RankOf(weights) != 5) b.Invalid("its weights have rank {}; 5 was expected", b.RankOf(weights));
  const std::optional<int64_t> extent = b.ExtentOf(weights, axis);
  if (!extent) b.Unsupported("needs to know the size of its kernel");
  b.CheckRange("kernel", *extent, 1);
  return *extent;
}

ValueId RealBias(TfliteBuilder& b, size_t input) {
  return b.HasInput(input) ? b.Real("real_bias", b.Input(input)) : kNoValue;
}

/// Weights are [depth, height, width, inputs, outputs].
void BuildConv3d(TfliteBuilder& b) {
  const auto options = b.Options<tflite::Conv3DOptions>();
  CheckWindow(b, options);
  const ValueId x = b.Real("real_input", b.Input(0));
  const ValueId weights = b.Real("real_weights", b.Input(1));
  const ValueId bias = RealBias(b, 2);
  Conv2dAttrs attrs;
  attrs.strides = {options.stride_h, options.stride_w};
  attrs.dilations = {options.dilation_h, options.dilation_w};
  attrs.auto_pad = PaddingOf(options.padding);
  WindowAxis depth{KernelExtent(b, weights, 0), options.stride_d, options.dilation_d};
  const std::optional<int64_t> extent = b.ExtentOf(x, 1);
  if (attrs.auto_pad != AutoPad::kValid && !extent && depth.stride != 1)
    b.Unsupported("derives the pads of an open depth from SAME; convert the net with a fixed depth");
  const AxisPads pads = ResolvePads(attrs.auto_pad, extent.value_or(depth.Span()), depth.kernel, depth.stride,
                                    depth.dilation, 0, 0);
  depth.pad_begin = pads.begin;
  depth.pad_end = pads.end;
  const ValueId y = ConvolveVolume(b, x, depth, [&](ValueId planes, int64_t tap) {
    const ValueId of_tap = Pick(b, "weights_of_tap", weights, 0, tap);
    return b.Emit("conv", OpCode::kConv2d,
                  {planes, EmitTranspose(b, "weights", of_tap, {3, 0, 1, 2}), tap == 0 ? bias : kNoValue},
                  attrs);
  });
  b.OutputActivated(y, options.activation);
}

/// Inputs: the output's extents, weights [depth, height, width, outputs, inputs], the volume.
void BuildConv3dTranspose(TfliteBuilder& b) {
  const auto options = b.Options<tflite::Conv3DOptions>();
  CheckWindow(b, options);
  const ValueId x = b.Real("real_input", b.Input(2));
  const ValueId weights = b.Real("real_weights", b.Input(1));
  const ValueId bias = RealBias(b, 3);
  TransposedExtents extents(b, options.padding, b.Input(0), x, 5);
  WindowAxis axes[] = {{KernelExtent(b, weights, 0), options.stride_d, options.dilation_d},
                       {KernelExtent(b, weights, 1), options.stride_h, options.dilation_h},
                       {KernelExtent(b, weights, 2), options.stride_w, options.dilation_w}};
  int64_t output_pads[3] = {};
  for (int64_t i = 0; i < 3; ++i) {
    const TransposedPads pads = extents.PadsOf(1 + i, axes[i].stride, axes[i].Span());
    axes[i].pad_begin = pads.begin;
    axes[i].pad_end = pads.end;
    output_pads[i] = pads.output;
  }
  ConvTranspose2dAttrs attrs;
  for (int i = 0; i < 2; ++i) {
    attrs.strides[i] = axes[1 + i].stride;
    attrs.dilations[i] = axes[1 + i].dilation;
    attrs.pads[i] = axes[1 + i].pad_begin;
    attrs.pads[2 + i] = axes[1 + i].pad_end;
    attrs.output_pads[i] = output_pads[1 + i];
  }
  const ValueId y = ConvolveVolumeTransposed(b, x, axes[0], output_pads[0], [&](ValueId planes, int64_t tap) {
    const ValueId of_tap = Pick(b, "weights_of_tap", weights, 0, tap);
    return b.Emit("conv", OpCode::kConvTranspose2d,
                  {planes, EmitTranspose(b, "weights", of_tap, {2, 0, 1, 3}), tap == 0 ? bias : kNoValue},
                  attrs);
  });
  b.OutputActivated(extents.crops() ? extents.Cropped(y) : y, options.activation);
}

constexpr TfliteOp kRows[] = {
    {Op::CONV_3D, BuildConv3d},
    {Op::CONV_3D_TRANSPOSE, BuildConv3dTranspose},
};

}  // namespace

std::span<const TfliteOp> TfliteVolumeOps() { return kRows; }

}  // namespace skiff
