// ONNX rows: convolutions and matrix products.
#include <algorithm>

#include "import/emit.h"
#include "import/onnx/convolution.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// Spatial axes of a node whose weights (or input) have this rank, after comparing with kernel_shape.
WindowAttributes ConvolutionWindow(OnnxBuilder& b, ValueId weights) {
  WindowAttributes window = b.Window(b.RankOf(weights) - 2);
  for (int i = 0; i < window.spatial_rank; ++i) {
    const std::optional<int64_t> extent = b.ExtentOf(weights, 2 + i);
    const int place = 2 - window.spatial_rank + i;  // -1: the depth.
    if (!extent && place < 0)
      b.Unsupported("needs to know the depth of its kernel; make the weights a constant of the net");
    if (!extent) continue;
    if (*extent < 1 || *extent > OnnxBuilder::kMaxWindowNumber)
      b.Invalid("the weights have {} elements along spatial axis {}; 1 to {} were expected", *extent, i,
                OnnxBuilder::kMaxWindowNumber);
    int64_t& stated = place < 0 ? window.depth.kernel : window.kernel[place];
    if (b.HasAttribute("kernel_shape") && *extent != stated) {
      b.Invalid("attribute 'kernel_shape' says {} at spatial axis {}, the weights have {}", stated, i,
                *extent);
    }
    stated = *extent;
  }
  return window;
}

int64_t Groups(OnnxBuilder& b) {
  const int64_t groups = b.Int("group", 1);
  b.CheckRange("group", {groups}, 1);
  return groups;
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
  if (window.spatial_rank == 3) {
    const ValueId y = VolumeConvolution(b, b.Input(0), w, b.OptionalInput(2), window, attrs);
    return b.Output(OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
  }
  const ValueId x = ToNhwc(b, b.Input(0), window.spatial_rank);
  const ValueId ohwi = ConvolutionWeights(b, w, window.spatial_rank);
  OutputFromNhwc(b, b.Emit("conv", OpCode::kConv2d, {x, ohwi, b.OptionalInput(2)}, attrs),
                 window.spatial_rank);
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

/// Depth, height and width; what the node does not have keeps its defaults.
TransposedWindow TransposedAxes(OnnxBuilder& b, const WindowAttributes& window) {
  TransposedWindow axes;
  axes.spatial_rank = window.spatial_rank;
  axes.axes[0].window = window.depth;
  for (int i = 0; i < 2; ++i) {
    axes.axes[1 + i].window = {window.kernel[i], window.strides[i], window.dilations[i], window.pads[i],
                               window.pads[2 + i]};
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
    TransposedAxis& axis = axes.axes[3 - window.spatial_rank + i];
    if (output_padding) axis.output_pad = (*output_padding)[place];
    if (!output_shape && !same) continue;
    const std::optional<int64_t> extent = b.ExtentOf(b.Input(0), 2 + i);
    if (output_shape && !extent) {
      b.Unsupported(
          "has the attribute output_shape although its input's extents are open; export with pads instead");
    }
    // With SAME the output is the input's extent times the stride, whatever that extent is.
    const int64_t span = axis.window.Span();
    int64_t full = span + axis.output_pad - axis.window.stride;
    if (output_shape &&
        (__builtin_mul_overflow(axis.window.stride, *extent - 1, &full) ||
         __builtin_add_overflow(full, span + axis.output_pad - (*output_shape)[place], &full))) {
      b.Invalid("the output's extent on spatial axis {} does not fit in 63 bits", i);
    }
    PadsForExtent(window.auto_pad, full, axis.window, axis.output_pad);
  }
  return axes;
}

void BuildConvTranspose(OnnxBuilder& b) {
  const ValueId w = b.Input(1);
  const WindowAttributes window = ConvolutionWindow(b, w);
  const TransposedWindow axes = TransposedAxes(b, window);
  const ValueId y = TransposedConvolution(b, b.Input(0), w, b.OptionalInput(2), axes, Groups(b));
  if (window.spatial_rank != 3) return OutputFromNhwc(b, y, window.spatial_rank);
  b.Output(OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
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
  y = EmitNotGrowing(b, "y_as_c", y, c);
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
