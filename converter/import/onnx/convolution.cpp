#include "import/onnx/convolution.h"

#include "import/onnx/nhwc.h"
#include "ops/op_codes.h"

namespace skiff {

/// OIHW or OIW to OHWI.
ValueId ConvolutionWeights(OnnxBuilder& b, ValueId w, int spatial_rank) {
  if (spatial_rank == 1) w = b.Emit("weights_2d", OpCode::kUnsqueeze, {w}, AxesAttrs{{2}});
  return b.Emit("weights", OpCode::kTranspose, {w}, TransposeAttrs{{0, 2, 3, 1}});
}

namespace {

/// ONNX [C_in, C_out / groups, kh, kw] to OHWI: every group's slice of C_in belongs to its own C_out / groups
/// outputs.
ValueId TransposedWeights(OnnxBuilder& b, ValueId w, int64_t groups, int spatial_rank) {
  if (spatial_rank == 1) w = b.Emit("weights_2d", OpCode::kUnsqueeze, {w}, AxesAttrs{{2}});
  if (groups == 1) return b.Emit("weights", OpCode::kTranspose, {w}, TransposeAttrs{{1, 2, 3, 0}});
  const auto extents = b.ExtentsOf(w, 0, 4);
  if (!extents) b.Unsupported("has groups and weights of unknown shape; export with constant weights");
  const std::vector<int64_t>& e = *extents;
  if (e[0] % groups != 0) b.Invalid("{} input channels cannot be divided into {} groups", e[0], groups);
  w = b.Emit("weights_grouped", OpCode::kReshape,
             {w, b.ConstantInts("grouped", {groups, e[0] / groups, e[1], e[2], e[3]})}, ReshapeAttrs{});
  w = b.Emit("weights_swapped", OpCode::kTranspose, {w}, TransposeAttrs{{0, 2, 3, 4, 1}});
  return b.Emit("weights", OpCode::kReshape,
                {w, b.ConstantInts("ohwi", {groups * e[1], e[2], e[3], e[0] / groups})}, ReshapeAttrs{});
}

}  // namespace

ValueId VolumeConvolution(OnnxBuilder& b, ValueId x, ValueId w, ValueId bias, const WindowAttributes& window,
                          const Conv2dAttrs& attrs) {
  const WindowAxis depth = ResolvedDepth(b, window, x);
  return ConvolveVolume(b, ToNdhwc(b, x), depth, [&](ValueId planes, int64_t tap) {
    const ValueId weights = ConvolutionWeights(b, Pick(b, "weights_of_tap", w, 2, tap), 2);
    return b.Emit("conv", OpCode::kConv2d, {planes, weights, tap == 0 ? bias : kNoValue}, attrs);
  });
}

ValueId TransposedConvolution(OnnxBuilder& b, ValueId x, ValueId w, ValueId bias,
                              const TransposedWindow& window, int64_t groups) {
  ConvTranspose2dAttrs attrs;
  attrs.groups = groups;
  for (int i = 0; i < 2; ++i) {
    const TransposedAxis& axis = window.axes[1 + i];
    attrs.strides[i] = axis.window.stride;
    attrs.dilations[i] = axis.window.dilation;
    attrs.pads[i] = axis.window.pad_begin;
    attrs.pads[2 + i] = axis.window.pad_end;
    attrs.output_pads[i] = axis.output_pad;
  }
  if (window.spatial_rank == 3) {
    const TransposedAxis& depth = window.axes[0];
    return ConvolveVolumeTransposed(
        b, ToNdhwc(b, x), depth.window, depth.output_pad, [&](ValueId planes, int64_t tap) {
          const ValueId weights = TransposedWeights(b, Pick(b, "weights_of_tap", w, 2, tap), groups, 2);
          return b.Emit("conv", OpCode::kConvTranspose2d, {planes, weights, tap == 0 ? bias : kNoValue},
                        attrs);
        });
  }
  const ValueId ohwi = TransposedWeights(b, w, groups, window.spatial_rank);
  return b.Emit("conv", OpCode::kConvTranspose2d, {ToNhwc(b, x, window.spatial_rank), ohwi, bias}, attrs);
}

}  // namespace skiff
