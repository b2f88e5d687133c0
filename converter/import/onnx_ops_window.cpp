// ONNX rows: convolutions and matrix products. A convolution over three axes is the sum, over the taps of its
// depth, of plane convolutions of shifted volumes.
#include <algorithm>

#include "import/onnx_nhwc.h"
#include "import/onnx_ops.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// Spatial axes of a node whose weights (or input) have this rank, after comparing with kernel_shape.
WindowAttributes ConvolutionWindow(OnnxBuilder& b, ValueId weights) {
  WindowAttributes window = b.Window(b.RankOf(weights) - 2);
  const KnownType& type = b.TypeOf(weights);
  for (int i = 0; i < window.spatial_rank; ++i) {
    const int64_t extent = type.extents[2 + i];
    const int place = 2 - window.spatial_rank + i;  // -1: the depth.
    int64_t& stated = place < 0 ? window.depth.kernel : window.kernel[place];
    if (b.HasAttribute("kernel_shape") && extent != KnownType::kUnknownExtent && extent != stated) {
      b.Invalid("attribute 'kernel_shape' says {} at spatial axis {}, the weights have {}", stated, i,
                extent);
    }
    if (extent != KnownType::kUnknownExtent) stated = extent;
  }
  return window;
}

int64_t Groups(OnnxBuilder& b) {
  const int64_t groups = b.Int("group", 1);
  b.CheckRange("group", {groups}, 1);
  return groups;
}

/// OIHW or OIW to OHWI.
ValueId ConvolutionWeights(OnnxBuilder& b, ValueId w, int spatial_rank) {
  if (spatial_rank == 1) w = b.Emit("weights_2d", OpCode::kUnsqueeze, {w}, AxesAttrs{{2}});
  return b.Emit("weights", OpCode::kTranspose, {w}, TransposeAttrs{{0, 2, 3, 1}});
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

void BuildConv3d(OnnxBuilder& b, const WindowAttributes& window, const Conv2dAttrs& attrs) {
  const WindowAxis depth = ResolvedDepth(b, window, b.Input(0));
  CheckDepthTaps(b, depth.kernel);
  const ValueId x = PadAxis(b, "padded", ToNdhwc(b, b.Input(0)), 1, depth.pad_begin, depth.pad_end);
  const ValueId y = SumOverDepth(
      b, b.Input(1), b.OptionalInput(2), depth.kernel,
      [&](int64_t tap) {
        const int64_t at = tap * depth.dilation;
        return SliceAxis(b, "under_tap", x, 1, at, depth.Span() - 1 - at, depth.stride);
      },
      [&](ValueId planes, ValueId weights, ValueId bias) {
        return b.Emit("conv", OpCode::kConv2d, {planes, ConvolutionWeights(b, weights, 2), bias}, attrs);
      });
  b.Output(OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
}

void BuildConv(OnnxBuilder& b) {
  const ValueId w = b.Input(1);
  const WindowAttributes window = ConvolutionWindow(b, w);
  Conv2dAttrs attrs;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.auto_pad = window.auto_pad;
  attrs.groups = Groups(b);
  if (window.spatial_rank == 3) return BuildConv3d(b, window, attrs);
  const ValueId x = ToNhwc(b, b.Input(0), window.spatial_rank);
  const ValueId ohwi = ConvolutionWeights(b, w, window.spatial_rank);
  OutputFromNhwc(b, b.Emit("conv", OpCode::kConv2d, {x, ohwi, b.OptionalInput(2)}, attrs),
                 window.spatial_rank);
}

/// ONNX [C_in, C_out / groups, kh, kw] to OHWI: every group's slice of C_in belongs to its own C_out / groups
/// outputs.
ValueId TransposedWeights(OnnxBuilder& b, ValueId w, int64_t groups, int spatial_rank) {
  if (spatial_rank == 1) w = b.Emit("weights_2d", OpCode::kUnsqueeze, {w}, AxesAttrs{{2}});
  if (groups == 1) return b.Emit("weights", OpCode::kTranspose, {w}, TransposeAttrs{{1, 2, 3, 0}});
  const KnownType type = b.TypeOf(w);
  if (!type.IsStatic()) {
    b.Unsupported("has groups and weights of unknown shape; export with constant weights");
  }
  if (type.extents[0] % groups != 0) {
    b.Invalid("{} input channels cannot be divided into {} groups", type.extents[0], groups);
  }
  const int64_t* e = type.extents;
  w = b.Emit("weights_grouped", OpCode::kReshape,
             {w, b.ConstantInts("grouped", {groups, e[0] / groups, e[1], e[2], e[3]})}, ReshapeAttrs{});
  w = b.Emit("weights_swapped", OpCode::kTranspose, {w}, TransposeAttrs{{0, 2, 3, 4, 1}});
  return b.Emit("weights", OpCode::kReshape,
                {w, b.ConstantInts("ohwi", {groups * e[1], e[2], e[3], e[0] / groups})}, ReshapeAttrs{});
}

/// Pads of one axis of a transposed convolution whose output extent is given; a negative total lengthens the
/// output behind the last input instead.
void PadsForExtent(AutoPad auto_pad, int64_t total, WindowAxis& axis, int64_t& output_pad) {
  if (total < 0) {
    output_pad -= total;
    total = 0;
  }
  const int64_t small = total / 2;
  const bool end_first = auto_pad == AutoPad::kSameUpper;
  axis.pad_begin = end_first ? small : total - small;
  axis.pad_end = end_first ? total - small : small;
}

/// One axis of a transposed convolution, with the pads resolved.
struct TransposedAxis {
  WindowAxis window;
  int64_t output_pad = 0;
};

/// Depth, height and width; what the node does not have keeps its defaults.
std::vector<TransposedAxis> TransposedAxes(OnnxBuilder& b, const WindowAttributes& window) {
  std::vector<TransposedAxis> axes(3);
  axes[0].window = window.depth;
  for (int i = 0; i < 2; ++i) {
    axes[static_cast<size_t>(1 + i)].window = {window.kernel[i], window.strides[i], window.dilations[i],
                                               window.pads[i], window.pads[2 + i]};
  }
  const auto spatial = [&](const char* name) {
    auto values = b.IntList(name);
    if (values && values->size() != static_cast<size_t>(window.spatial_rank)) {
      b.Invalid("attribute '{}' has {} values, {} were expected", name, values->size(), window.spatial_rank);
    }
    if (values) b.CheckRange(name, b.ToInts(*values, name), 0);
    return values;
  };
  const auto output_padding = spatial("output_padding");
  const auto output_shape = spatial("output_shape");
  const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  for (int i = 0; i < window.spatial_rank; ++i) {
    const auto place = static_cast<size_t>(i);
    TransposedAxis& axis = axes[3 - static_cast<size_t>(window.spatial_rank) + place];
    if (output_padding) axis.output_pad = (*output_padding)[place];
    if (!output_shape && !same) continue;
    const int64_t extent = b.TypeOf(b.Input(0)).extents[2 + i];
    if (output_shape && extent == KnownType::kUnknownExtent) {
      b.Unsupported(
          "has the attribute output_shape although its input's extents are open; export with pads instead");
    }
    // With SAME the output is the input's extent times the stride, whatever that extent is.
    const int64_t span = axis.window.Span();
    int64_t full = span - axis.window.stride;
    if (output_shape && (__builtin_mul_overflow(axis.window.stride, extent - 1, &full) ||
                         __builtin_add_overflow(full, span - (*output_shape)[place], &full))) {
      b.Invalid("the output's extent on spatial axis {} does not fit in 63 bits", i);
    }
    PadsForExtent(window.auto_pad, full + axis.output_pad, axis.window, axis.output_pad);
  }
  return axes;
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

void BuildConvTranspose(OnnxBuilder& b) {
  const ValueId w = b.Input(1);
  const WindowAttributes window = ConvolutionWindow(b, w);
  const std::vector<TransposedAxis> axes = TransposedAxes(b, window);
  ConvTranspose2dAttrs attrs;
  attrs.groups = Groups(b);
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  for (int i = 0; i < 2; ++i) {
    const TransposedAxis& axis = axes[static_cast<size_t>(1 + i)];
    attrs.pads[i] = axis.window.pad_begin;
    attrs.pads[2 + i] = axis.window.pad_end;
    attrs.output_pads[i] = axis.output_pad;
  }
  if (window.spatial_rank == 3) {
    const ValueId y = ConvTransposeVolume(b, ToNdhwc(b, b.Input(0)), w, b.OptionalInput(2), axes[0], attrs);
    return b.Output(OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
  }
  const ValueId x = ToNhwc(b, b.Input(0), window.spatial_rank);
  const ValueId ohwi = TransposedWeights(b, w, attrs.groups, window.spatial_rank);
  OutputFromNhwc(b, b.Emit("conv", OpCode::kConvTranspose2d, {x, ohwi, b.OptionalInput(2)}, attrs),
                 window.spatial_rank);
}

void BuildMatMul(OnnxBuilder& b) { b.Output(OpCode::kMatMul, {b.Input(0), b.Input(1)}, MatMulAttrs{}); }

/// alpha * A' * B' + beta * C.
void BuildGemm(OnnxBuilder& b) {
  const DType dtype = b.DTypeOf(b.Input(0));
  const auto scale = [&](const char* name) {
    const float factor = b.Float(name, 1.0f);
    if (factor != 1.0f && !IsFloat(dtype)) b.Unsupported("scales integers by {} = {}", name, factor);
    return static_cast<double>(factor);
  };
  const double alpha = scale("alpha");
  const double beta = scale("beta");
  ValueId a = b.Input(0);
  if (b.Flag("transA")) a = b.Emit("a_transposed", OpCode::kTranspose, {a}, TransposeAttrs{{1, 0}});
  const MatMulAttrs product{.transpose_b = b.Flag("transB")};
  const bool bias = b.HasInput(2) && beta != 0.0;
  if (alpha == 1.0 && !bias) return b.Output(OpCode::kMatMul, {a, b.Input(1)}, product);
  ValueId y = b.Emit("product", OpCode::kMatMul, {a, b.Input(1)}, product);
  if (alpha != 1.0) {
    const ValueId factor = b.Scalar("alpha", dtype, alpha);
    if (!bias) return b.Output(OpCode::kMul, {y, factor}, ClampAttrs{});
    y = b.Emit("scaled", OpCode::kMul, {y, factor}, ClampAttrs{});
  }
  ValueId c = b.Input(2);
  if (beta != 1.0) c = b.Emit("c_scaled", OpCode::kMul, {c, b.Scalar("beta", dtype, beta)}, ClampAttrs{});
  b.Output(OpCode::kAdd, {y, c}, ClampAttrs{});
}

constexpr OnnxOp kRows[] = {
    {"Conv", kOldest, kNewest, BuildConv},
    {"ConvTranspose", kOldest, kNewest, BuildConvTranspose},
    {"MatMul", kOldest, kNewest, BuildMatMul},
    {"Gemm", kOldest, kNewest, BuildGemm},
};

}  // namespace

std::span<const OnnxOp> OnnxWindowOps() { return kRows; }

}  // namespace skiff
