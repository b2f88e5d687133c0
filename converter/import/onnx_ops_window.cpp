// ONNX rows: convolutions, pooling, resizing and matrix products. ONNX has the channels in front, Skiff's
// windows are NHWC: the builders write the transposes, a pass cancels them.
#include <algorithm>

#include "import/onnx_ops.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// NCHW (or NCW, as NC1W) to NHWC.
ValueId ToNhwc(OnnxBuilder& b, ValueId x, int spatial_rank, const char* suffix = "nhwc") {
  if (spatial_rank == 1) x = b.Emit("as_2d", OpCode::kUnsqueeze, {x}, AxesAttrs{{2}});
  return b.Emit(suffix, OpCode::kTranspose, {x}, TransposeAttrs{{0, 2, 3, 1}});
}

/// NHWC to the node's output.
void OutputFromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank) {
  const TransposeAttrs back{{0, 3, 1, 2}};
  if (spatial_rank != 1) return b.Output(OpCode::kTranspose, {y}, back);
  b.Output(OpCode::kSqueeze, {b.Emit("nchw", OpCode::kTranspose, {y}, back)}, AxesAttrs{{2}});
}

/// Spatial axes of a node whose weights (or input) have this rank, after comparing with kernel_shape.
WindowAttributes ConvolutionWindow(OnnxBuilder& b, ValueId weights) {
  WindowAttributes window = b.Window(b.RankOf(weights) - 2);
  const KnownType& type = b.TypeOf(weights);
  for (int i = 0; i < window.spatial_rank; ++i) {
    const int64_t extent = type.extents[2 + i];
    int64_t& stated = window.kernel[2 - window.spatial_rank + i];
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

void BuildConv(OnnxBuilder& b) {
  const ValueId w = b.Input(1);
  const WindowAttributes window = ConvolutionWindow(b, w);
  Conv2dAttrs attrs;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.auto_pad = window.auto_pad;
  attrs.groups = Groups(b);
  const ValueId x = ToNhwc(b, b.Input(0), window.spatial_rank);
  ValueId ohwi = w;
  if (window.spatial_rank == 1) ohwi = b.Emit("weights_2d", OpCode::kUnsqueeze, {ohwi}, AxesAttrs{{2}});
  ohwi = b.Emit("weights", OpCode::kTranspose, {ohwi}, TransposeAttrs{{0, 2, 3, 1}});
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
void PadsForExtent(WindowAttributes& window, Ints& output_pads, int axis, int64_t total) {
  if (total < 0) {
    output_pads[axis] -= total;
    total = 0;
  }
  const int64_t small = total / 2;
  const bool end_first = window.auto_pad == AutoPad::kSameUpper;
  window.pads[axis] = end_first ? small : total - small;
  window.pads[2 + axis] = end_first ? total - small : small;
}

void BuildConvTranspose(OnnxBuilder& b) {
  const ValueId w = b.Input(1);
  WindowAttributes window = ConvolutionWindow(b, w);
  const int first = 2 - window.spatial_rank;
  ConvTranspose2dAttrs attrs;
  attrs.groups = Groups(b);
  const auto spatial = [&](const char* name) {
    auto values = b.IntList(name);
    if (values && values->size() != static_cast<size_t>(window.spatial_rank)) {
      b.Invalid("attribute '{}' has {} values, {} were expected", name, values->size(), window.spatial_rank);
    }
    if (values) b.CheckRange(name, b.ToInts(*values, name), 0);
    return values;
  };
  if (const auto pads = spatial("output_padding")) {
    for (int i = 0; i < window.spatial_rank; ++i)
      attrs.output_pads[first + i] = (*pads)[static_cast<size_t>(i)];
  }
  const auto output_shape = spatial("output_shape");
  const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  for (int i = 0; (output_shape || same) && i < window.spatial_rank; ++i) {
    const int axis = first + i;
    const int64_t kernel = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
    const int64_t extent = b.TypeOf(b.Input(0)).extents[2 + i];
    if (output_shape && extent == KnownType::kUnknownExtent) {
      b.Unsupported(
          "has the attribute output_shape although its input's extents are open; export with pads instead");
    }
    // With SAME the output is the input's extent times the stride, whatever that extent is.
    const int64_t full =
        output_shape ? window.strides[axis] * (extent - 1) + kernel - (*output_shape)[static_cast<size_t>(i)]
                     : kernel - window.strides[axis];
    PadsForExtent(window, attrs.output_pads, axis, full + attrs.output_pads[axis]);
  }
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  const ValueId x = ToNhwc(b, b.Input(0), window.spatial_rank);
  const ValueId ohwi = TransposedWeights(b, w, attrs.groups, window.spatial_rank);
  OutputFromNhwc(b, b.Emit("conv", OpCode::kConvTranspose2d, {x, ohwi, b.OptionalInput(2)}, attrs),
                 window.spatial_rank);
}

void BuildPool(OnnxBuilder& b) {
  const auto kernel = b.IntList("kernel_shape");
  if (!kernel) b.Invalid("attribute 'kernel_shape' is missing");
  if (b.Flag("storage_order") && b.OutputUsed(1)) b.Unsupported("stores indices in column order");
  const WindowAttributes window = b.Window(static_cast<int>(std::min<size_t>(kernel->size(), 9)));
  Pool2dAttrs attrs;
  attrs.kernel = window.kernel;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.auto_pad = window.auto_pad;
  attrs.ceil_mode = b.Flag("ceil_mode");
  attrs.count_include_pad = b.Flag("count_include_pad");
  const ValueId x = ToNhwc(b, b.Input(0), window.spatial_rank);
  OutputFromNhwc(b, b.Emit("pool", b.op(), {x}, attrs), window.spatial_rank);
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
    {"MaxPool", kOldest, kNewest, BuildPool, OpCode::kMaxPool2d},
    {"AveragePool", kOldest, kNewest, BuildPool, OpCode::kAveragePool2d},
    {"MatMul", kOldest, kNewest, BuildMatMul},
    {"Gemm", kOldest, kNewest, BuildGemm},
};

}  // namespace

std::span<const OnnxOp> OnnxWindowOps() { return kRows; }

}  // namespace skiff
