#include "import/onnx/convolution.h"

#include "import/onnx/nhwc.h"

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

/// The sum over the taps of the depth. `slice` cuts the planes under one tap out of a volume, `plane`
/// convolves them with the weights of the tap, which have no depth any more; the bias belongs to one tap.
template <class Slice, class Plane>
ValueId SumOverDepth(OnnxBuilder& b, ValueId w, ValueId bias, int64_t taps, Slice&& slice, Plane&& plane) {
  ValueId sum = kNoValue;
  ValueId volume = kNoValue;
  for (int64_t tap = 0; tap < taps; ++tap) {
    volume = slice(tap);
    const ValueId weights = Pick(b, "weights_of_tap", w, 2, tap);
    const ValueId part = plane(FoldDepth(b, volume), weights, tap == 0 ? bias : kNoValue);
    sum = tap == 0 ? part : b.Emit("sum", OpCode::kAdd, {sum, part}, ClampAttrs{});
  }
  return UnfoldDepth(b, sum, volume);
}

/// Taps of the depth become nodes.
void CheckDepthTaps(OnnxBuilder& b, int64_t taps) {
  constexpr int64_t kMostTaps = 64;
  if (taps > kMostTaps)
    b.Unsupported("has {} taps along its depth; at most {} are supported", taps, kMostTaps);
}

/// The volume with stride - 1 planes of zeros behind every plane.
ValueId StretchDepth(OnnxBuilder& b, ValueId x, int64_t stride) {
  if (stride == 1) return x;
  const ValueId apart = b.Emit("apart", OpCode::kUnsqueeze, {x}, AxesAttrs{{2}});
  return ReshapeTo(b, "stretched", PadAxis(b, "zeros_between", apart, 2, 0, stride - 1),
                   {ExtentsOf(b, x, 0, 1), b.ConstantInts("depth", {-1}), ExtentsOf(b, x, 2, 5)});
}

/// NDHWC. Output plane o is the sum of the stretched input's planes o + pad_begin - tap * dilation.
ValueId ConvTransposeVolume(OnnxBuilder& b, ValueId x, ValueId w, ValueId bias, const TransposedAxis& axis,
                            const ConvTranspose2dAttrs& attrs) {
  const WindowAxis& depth = axis.window;
  CheckDepthTaps(b, depth.kernel);
  const int64_t reach = depth.Span() - 1;
  x = PadAxis(b, "padded", StretchDepth(b, x, depth.stride), 1, reach - depth.pad_begin,
              reach - depth.pad_end + axis.output_pad - (depth.stride - 1));
  return SumOverDepth(
      b, w, bias, depth.kernel,
      [&](int64_t tap) {
        const int64_t at = tap * depth.dilation;
        return SliceAxis(b, "under_tap", x, 1, reach - at, at);
      },
      [&](ValueId planes, ValueId weights, ValueId tap_bias) {
        return b.Emit("conv", OpCode::kConvTranspose2d,
                      {planes, TransposedWeights(b, weights, attrs.groups, 2), tap_bias}, attrs);
      });
}

}  // namespace

ValueId VolumeConvolution(OnnxBuilder& b, ValueId x, ValueId w, ValueId bias, const WindowAttributes& window,
                          const Conv2dAttrs& attrs) {
  const WindowAxis depth = ResolvedDepth(b, window, x);
  CheckDepthTaps(b, depth.kernel);
  x = PadAxis(b, "padded", ToNdhwc(b, x), 1, depth.pad_begin, depth.pad_end);
  return SumOverDepth(
      b, w, bias, depth.kernel,
      [&](int64_t tap) {
        const int64_t at = tap * depth.dilation;
        return SliceAxis(b, "under_tap", x, 1, at, depth.Span() - 1 - at, depth.stride);
      },
      [&](ValueId planes, ValueId weights, ValueId tap_bias) {
        return b.Emit("conv", OpCode::kConv2d, {planes, ConvolutionWeights(b, weights, 2), tap_bias}, attrs);
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
    return ConvTransposeVolume(b, ToNdhwc(b, x), w, bias, window.axes[0], attrs);
  }
  const ValueId ohwi = TransposedWeights(b, w, groups, window.spatial_rank);
  return b.Emit("conv", OpCode::kConvTranspose2d, {ToNhwc(b, x, window.spatial_rank), ohwi, bias}, attrs);
}

}  // namespace skiff
