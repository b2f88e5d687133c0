// Shape rules of convolutions, pools, resize and matrix products.
#include <cmath>
#include <cstring>

#include "ops/extent_math.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {

namespace {

bool PositivePair(const Ints& ints) { return ints.size == 2 && ints[0] > 0 && ints[1] > 0; }

bool NonNegative(const Ints& ints, int64_t size) {
  if (ints.size != size) return false;
  for (int64_t value : ints) {
    if (value < 0) return false;
  }
  return true;
}

/// floor((extent + pads - window) / stride) + 1, or the ceiling. A window that would start in the end padding
/// is dropped in ceil mode, as PyTorch does and ONNX since opset 19.
template <class D>
D WindowCount(const D& extent, int64_t kernel, int64_t stride, int64_t dilation, AutoPad auto_pad,
              int64_t begin, int64_t end, bool ceil_mode) {
  if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower)
    return CeilDivide(extent, D(stride));
  if (auto_pad == AutoPad::kValid) begin = end = 0;
  const int64_t window = (kernel - 1) * dilation + 1;
  const D span = extent + D(begin + end - window);
  if (!ceil_mode) return FloorDivide(span, D(stride)) + D(1);
  const D count = CeilDivide(span, D(stride)) + D(1);
  const D last_start_inside = CeilDivide(extent + D(begin), D(stride));
  return MinExtent(count, last_start_inside);
}

bool WindowParametersFit(const Ints& ints) {
  for (int64_t value : ints) {
    if (value > kMaxWindowParameter) return false;
  }
  return true;
}

/// What both convolutions require of input, weights (OHWI), bias and attributes.
template <class D, class Attrs>
Status CheckConvolutionOperands(InferContext<D>& context, const Attrs& attrs) {
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& w = context.inputs[1];
  if (x.rank != 4 || w.rank != 4) {
    return context.Error("the input (NHWC) and the weights (OHWI) must have rank 4, not %d and %d", x.rank,
                         w.rank);
  }
  if (x.dtype != w.dtype) {
    return context.Error("the input is %s, the weights are %s", DTypeName(x.dtype), DTypeName(w.dtype));
  }
  SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  if (!PositivePair(attrs.strides) || !PositivePair(attrs.dilations) || attrs.groups <= 0 ||
      !NonNegative(attrs.pads, 4) || !WindowParametersFit(attrs.strides) ||
      !WindowParametersFit(attrs.dilations) || !WindowParametersFit(attrs.pads)) {
    return context.Error("strides, dilations and groups must be positive, pads not negative, all below 2^30");
  }
  for (int i = 0; i < 4; ++i) {
    const D& extent = w.extents[i];
    if (!IsKnown(extent) || KnownValue(extent) <= 0 || KnownValue(extent) > kMaxWindowParameter) {
      return context.Error("the weights' extents must be known, positive and below 2^30");
    }
  }
  D grouped_channels;
  if (!CheckedMultiply(w.extents[3], D(attrs.groups), &grouped_channels) ||
      !SameExtent(x.extents[3], grouped_channels)) {
    return context.Error("the input has %lld channels, the weights expect %lld in each of %lld groups",
                         static_cast<long long>(KnownValue(x.extents[3])),
                         static_cast<long long>(KnownValue(w.extents[3])),
                         static_cast<long long>(attrs.groups));
  }
  if (KnownValue(w.extents[0]) % attrs.groups != 0) {
    return context.Error("%lld output channels cannot be divided into %lld groups",
                         static_cast<long long>(KnownValue(w.extents[0])),
                         static_cast<long long>(attrs.groups));
  }
  if (context.Has(2) &&
      (context.inputs[2].rank != 1 || !SameExtent(context.inputs[2].extents[0], w.extents[0]) ||
       context.inputs[2].dtype != x.dtype)) {
    return context.Error("the bias must be a vector with one value per output channel, of the input's dtype");
  }
  return OkStatus();
}

}  // namespace

template <class D>
Status InferConv2d(InferContext<D>& context) {
  const auto& attrs = context.template As<Conv2dAttrs>();
  SKIFF_RETURN_IF_ERROR(CheckConvolutionOperands(context, attrs));
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& w = context.inputs[1];
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 4;
  out.extents[0] = x.extents[0];
  for (int axis = 0; axis < 2; ++axis) {
    out.extents[1 + axis] =
        WindowCount(x.extents[1 + axis], KnownValue(w.extents[1 + axis]), attrs.strides[axis],
                    attrs.dilations[axis], attrs.auto_pad, attrs.pads[axis], attrs.pads[2 + axis], false);
    if (IsKnown(out.extents[1 + axis]) && KnownValue(out.extents[1 + axis]) <= 0) {
      return context.Error("the padded input's %s is smaller than the dilated kernel",
                           axis == 0 ? "height" : "width");
    }
  }
  out.extents[3] = w.extents[0];
  return OkStatus();
}

template <class D>
Status InferConvTranspose2d(InferContext<D>& context) {
  const auto& attrs = context.template As<ConvTranspose2dAttrs>();
  SKIFF_RETURN_IF_ERROR(CheckConvolutionOperands(context, attrs));
  if (!NonNegative(attrs.output_pads, 2) || !WindowParametersFit(attrs.output_pads)) {
    return context.Error("the output pads must not be negative, and below 2^30");
  }
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& w = context.inputs[1];
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 4;
  out.extents[0] = x.extents[0];
  for (int axis = 0; axis < 2; ++axis) {
    D& extent = out.extents[1 + axis];
    D taps;
    const D rest(1 + attrs.output_pads[axis] - attrs.pads[axis] - attrs.pads[2 + axis]);
    if (!CheckedMultiply(x.extents[1 + axis] + D(-1), D(attrs.strides[axis]), &extent) ||
        !CheckedMultiply(w.extents[1 + axis] + D(-1), D(attrs.dilations[axis]), &taps) ||
        !CheckedAdd(D(extent), taps, &extent) || !CheckedAdd(D(extent), rest, &extent)) {
      return context.Error("the output's %s does not fit in 63 bits", axis == 0 ? "height" : "width");
    }
    if (IsKnown(out.extents[1 + axis]) && KnownValue(out.extents[1 + axis]) <= 0) {
      return context.Error("the pads leave no output %s", axis == 0 ? "height" : "width");
    }
  }
  out.extents[3] = w.extents[0];
  return OkStatus();
}

template <class D>
Status InferPool2d(InferContext<D>& context) {
  const auto& attrs = context.template As<Pool2dAttrs>();
  const InferInput<D>& x = context.inputs[0];
  if (x.rank != 4) return context.Error("the input must be NHWC of rank 4, not %d", x.rank);
  if (context.op == OpCode::kAveragePool2d) SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  if (!PositivePair(attrs.kernel) || !PositivePair(attrs.strides) || !PositivePair(attrs.dilations) ||
      !NonNegative(attrs.pads, 4) || !WindowParametersFit(attrs.kernel) ||
      !WindowParametersFit(attrs.strides) || !WindowParametersFit(attrs.dilations) ||
      !WindowParametersFit(attrs.pads)) {
    return context.Error(
        "kernel, strides and dilations must be positive pairs, pads four values >= 0, all below 2^30");
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 4;
  out.extents[0] = x.extents[0];
  out.extents[3] = x.extents[3];
  for (int axis = 0; axis < 2; ++axis) {
    out.extents[1 + axis] =
        WindowCount(x.extents[1 + axis], attrs.kernel[axis], attrs.strides[axis], attrs.dilations[axis],
                    attrs.auto_pad, attrs.pads[axis], attrs.pads[2 + axis], attrs.ceil_mode);
    if (IsKnown(out.extents[1 + axis]) && KnownValue(out.extents[1 + axis]) <= 0) {
      return context.Error("the padded input's %s is smaller than the window",
                           axis == 0 ? "height" : "width");
    }
  }
  return OkStatus();
}

namespace {

/// floor(extent * scale) where the scale or its inverse is a whole number, also to the product of f32.
template <class D>
bool ScaleOpenExtent(const D& extent, float scale, D* scaled) {
  if (scale >= 1.0f && scale < 65536.0f && scale == std::floor(scale)) {
    *scaled = extent * D(static_cast<int64_t>(scale));
    return true;
  }
  const float inverse = 1.0f / scale;
  if (!(inverse > 1.0f && inverse < 65536.0f) || inverse != std::floor(inverse) || inverse * scale != 1.0f)
    return false;
  *scaled = FloorDivide(extent, D(static_cast<int64_t>(inverse)));
  return true;
}

}  // namespace

template <class D>
Status InferPool2dIndices(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(InferPool2d(context));
  context.outputs[0].dtype = DType::kI64;
  return OkStatus();
}

/// Inputs: x (NHWC), sizes (i64[2]: height, width) or absent, scales (f32[2]) or absent. Sizes decide the
/// extents where both are given; scales then only say where the output lies over the input.
template <class D>
Status InferResize2d(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  if (x.rank != 4) return context.Error("the input must be NHWC of rank 4, not %d", x.rank);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 4;
  out.extents[0] = x.extents[0];
  out.extents[3] = x.extents[3];
  if (context.Has(1)) {
    ShapeValues<D> sizes;
    SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 1, "the sizes", &sizes));
    if (sizes.count != 2) return context.Error("the sizes must be two integers (height, width)");
    if (context.Has(2) && (context.inputs[2].dtype != DType::kF32 || context.inputs[2].rank != 1 ||
                           !SameExtent(context.inputs[2].extents[0], D(2)))) {
      return context.Error("the scales must be two f32 (height, width)");
    }
    for (int axis = 0; axis < 2; ++axis) out.extents[1 + axis] = sizes[axis];
  } else {
    if (!context.Has(2) || context.inputs[2].constant == nullptr || context.inputs[2].dtype != DType::kF32 ||
        context.inputs[2].rank != 1 || KnownValue(context.inputs[2].extents[0]) != 2) {
      return context.Error(
          "either sizes (input 1) or two f32 scales (input 2: height, width), known before the run, are "
          "needed");
    }
    float scales[2];
    std::memcpy(scales, context.inputs[2].constant, sizeof(scales));
    for (int axis = 0; axis < 2; ++axis) {
      if (!IsKnown(x.extents[1 + axis])) {
        if (!ScaleOpenExtent(x.extents[1 + axis], scales[axis], &out.extents[1 + axis]))
          return context.Error("the scale %g of an extent that is not known is no whole number",
                               static_cast<double>(scales[axis]));
        continue;
      }
      // A product of f32, on which exporters count: 10 * 0.7f is 7, though 0.7f is less than 0.7.
      const float extent = std::floor(static_cast<float>(KnownValue(x.extents[1 + axis])) * scales[axis]);
      if (!(extent >= 0 && extent < 1e9f))
        return context.Error("the scale %g is out of range", static_cast<double>(scales[axis]));
      out.extents[1 + axis] = D(static_cast<int64_t>(extent));
    }
  }
  for (int axis = 0; axis < 2; ++axis) {
    if (IsKnown(out.extents[1 + axis]) &&
        (KnownValue(out.extents[1 + axis]) <= 0 ||
         (IsKnown(x.extents[1 + axis]) && KnownValue(x.extents[1 + axis]) <= 0))) {
      return context.Error("the input's and the output's height and width must be at least 1");
    }
  }
  return OkStatus();
}

template <class D>
Status InferMatMul(InferContext<D>& context) {
  const auto& attrs = context.template As<MatMulAttrs>();
  const InferInput<D>& a = context.inputs[0];
  const InferInput<D>& b = context.inputs[1];
  if (a.dtype != b.dtype)
    return context.Error("the inputs have different dtypes: %s and %s", DTypeName(a.dtype),
                         DTypeName(b.dtype));
  if (a.rank < 1 || b.rank < 1) return context.Error("a scalar cannot be an input");
  if (attrs.transpose_b && b.rank < 2) return context.Error("transpose_b needs an input 1 of rank 2 or more");
  const D a_depth = a.extents[a.rank - 1];
  const D b_depth = b.rank == 1 ? b.extents[0] : b.extents[b.rank - (attrs.transpose_b ? 1 : 2)];
  if (!SameExtent(a_depth, b_depth)) {
    if (!IsKnown(a_depth) || !IsKnown(b_depth))
      return context.Error("the inner extents are not equal at any size");
    return context.Error("the inner extents differ: %lld and %lld",
                         static_cast<long long>(KnownValue(a_depth)),
                         static_cast<long long>(KnownValue(b_depth)));
  }
  const int a_batch = a.rank > 2 ? a.rank - 2 : 0;
  const int b_batch = b.rank > 2 ? b.rank - 2 : 0;
  const int batch = a_batch > b_batch ? a_batch : b_batch;
  InferOutput<D>& out = context.outputs[0];
  out.dtype = a.dtype;
  out.rank = batch;
  for (int i = 1; i <= batch; ++i) {
    const D left = i <= a_batch ? a.extents[a_batch - i] : D(1);
    const D right = i <= b_batch ? b.extents[b_batch - i] : D(1);
    const bool left_is_one = IsKnown(left) && KnownValue(left) == 1;
    const bool right_is_one = IsKnown(right) && KnownValue(right) == 1;
    if (!CanBroadcast(left, right)) {
      return context.Error("the batch extents %lld and %lld cannot be broadcast",
                           static_cast<long long>(KnownValue(left)),
                           static_cast<long long>(KnownValue(right)));
    }
    out.extents[batch - i] = left_is_one ? right : (right_is_one ? left : BroadcastExtent(left, right));
  }
  if (a.rank > 1) out.extents[out.rank++] = a.extents[a.rank - 2];
  if (b.rank > 1) out.extents[out.rank++] = b.extents[b.rank - (attrs.transpose_b ? 2 : 1)];
  return OkStatus();
}

/// Outputs: the determinants, and the factors (f64) that they are products of.
template <class D>
Status InferDet(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  if (!IsFloat(x.dtype) || x.rank < 2)
    return context.Error("matrices must be floating point of rank 2 at least, not %s of rank %d",
                         DTypeName(x.dtype), x.rank);
  if (!SameExtent(x.extents[x.rank - 1], x.extents[x.rank - 2]))
    return context.Error("matrices of %lld x %lld are not square",
                         static_cast<long long>(KnownValue(x.extents[x.rank - 2])),
                         static_cast<long long>(KnownValue(x.extents[x.rank - 1])));
  for (size_t i = 0; i < 2; ++i) {
    InferOutput<D>& out = context.outputs[i];
    out.dtype = i == 0 ? x.dtype : DType::kF64;
    out.rank = i == 0 ? x.rank - 2 : x.rank;
    for (int axis = 0; axis < out.rank; ++axis) out.extents[axis] = x.extents[axis];
  }
  return OkStatus();
}

/// Inputs: x [..., K], weights [N, K], bias [N] or absent. Output: [..., N].
template <class D>
Status InferFullyConnected(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& w = context.inputs[1];
  if (x.rank < 1 || w.rank != 2 || x.dtype != w.dtype) {
    return context.Error("the input needs rank 1 or more, the weights rank 2, both one dtype");
  }
  SKIFF_RETURN_IF_ERROR(CheckFloat(context));
  if (!SameExtent(x.extents[x.rank - 1], w.extents[1])) {
    return context.Error("the input's last extent is %lld, the weights expect %lld",
                         static_cast<long long>(KnownValue(x.extents[x.rank - 1])),
                         static_cast<long long>(KnownValue(w.extents[1])));
  }
  if (context.Has(2) &&
      (context.inputs[2].rank != 1 || !SameExtent(context.inputs[2].extents[0], w.extents[0]) ||
       context.inputs[2].dtype != x.dtype)) {
    return context.Error("the bias must be a vector with one value per output, of the input's dtype");
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank;
  for (int i = 0; i + 1 < x.rank; ++i) out.extents[i] = x.extents[i];
  out.extents[x.rank - 1] = w.extents[0];
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferConv2d);
SKIFF_INSTANTIATE_RULE(InferConvTranspose2d);
SKIFF_INSTANTIATE_RULE(InferPool2d);
SKIFF_INSTANTIATE_RULE(InferPool2dIndices);
SKIFF_INSTANTIATE_RULE(InferResize2d);
SKIFF_INSTANTIATE_RULE(InferMatMul);
SKIFF_INSTANTIATE_RULE(InferFullyConnected);
SKIFF_INSTANTIATE_RULE(InferDet);

}  // namespace skiff
