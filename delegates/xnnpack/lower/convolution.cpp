#include "delegates/xnnpack/lower/convolution.h"

#include <algorithm>

#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Rows of the tiles of XNNPACK's micro-kernels, at most: indirection buffers hold whole tiles.
constexpr int64_t kMostRows = 16;

/// The pads depend on the input's size; where XNNPACK finds them, the operator need not be made anew. It
/// subtracts without a sign, so windows must not leave pixels out.
bool XnnpackFindsPads(const Conv2dAttrs& attrs, const Shape& weights) {
  if (attrs.auto_pad != AutoPad::kSameUpper) return false;
  for (int axis = 0; axis < 2; ++axis) {
    if ((weights[1 + axis] - 1) * attrs.dilations[axis] + 1 < attrs.strides[axis]) return false;
  }
  return true;
}

}  // namespace

bool FitPads(AutoPad auto_pad, const Ints& pads, int axis, int64_t input, int64_t output, int64_t kernel,
             int64_t stride, int64_t dilation, uint32_t* begin, uint32_t* end) {
  const AxisPads given = ResolvePads(auto_pad, input, kernel, stride, dilation, pads[axis], pads[2 + axis]);
  const int64_t window = (kernel - 1) * dilation + 1;
  const int64_t touched = (output - 1) * stride + window - input - given.begin;
  // XNNPACK rounds down as well: what the last window leaves over does no harm.
  const bool as_many = given.end >= touched && given.end < touched + stride;
  const int64_t wanted = as_many ? given.end : std::max<int64_t>(touched, 0);
  if (given.begin < 0 || given.begin > UINT32_MAX || wanted < 0 || wanted > UINT32_MAX) return false;
  *begin = static_cast<uint32_t>(given.begin);
  *end = static_cast<uint32_t>(wanted);
  return true;
}

bool IndirectionFits(int64_t outputs, int64_t taps) {
  constexpr int64_t kMostPointers = int64_t{1} << 28;
  if (outputs <= 0 || taps <= 0 || outputs > kMostPointers) return false;
  return taps <= kMostPointers / (outputs + kMostRows - 1);
}

bool TransposedFits(const TensorView& weights, const TensorView& result, const Ints& strides) {
  for (int axis = 0; axis < 2; ++axis) {
    if (result.shape[1 + axis] < strides[axis] - 1) return false;
  }
  // Of every (stride)th column, a whole number of tiles.
  const int64_t columns =
      CeilDivide(CeilDivide(result.shape[2], strides[1]), kMostRows) * kMostRows * strides[1];
  int64_t outputs = 0;
  return !__builtin_mul_overflow(result.shape[1], columns, &outputs) &&
         IndirectionFits(outputs, weights.shape.ElementsBetween(1, 3));
}

PackedExtents TransposedExtents(const Shape& weights, int64_t groups) {
  return {static_cast<uint64_t>(weights[3]), static_cast<uint64_t>(weights[0] / groups),
          static_cast<uint64_t>(weights.ElementsBetween(1, 3)), static_cast<uint64_t>(groups)};
}

Status DescribeConvolution(const NodeView& node, ConvolutionGeometry* geometry) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const TensorView& x = node.in(0);
  const Shape& w = node.in(1).shape;
  const TensorView& y = node.out(0);
  ConvolutionGeometry& g = *geometry;
  for (int axis = 0; axis < 2; ++axis) {
    uint32_t begin = 0;
    uint32_t end = 0;
    if (!FitPads(attrs.auto_pad, attrs.pads, axis, x.shape[1 + axis], y.shape[1 + axis], w[1 + axis],
                 attrs.strides[axis], attrs.dilations[axis], &begin, &end)) {
      return Refuse();
    }
    g.pads[axis == 0 ? 0 : 3] = begin;
    g.pads[axis == 0 ? 2 : 1] = end;
    g.kernel[axis] = static_cast<uint32_t>(w[1 + axis]);
    g.strides[axis] = static_cast<uint32_t>(attrs.strides[axis]);
    g.dilations[axis] = static_cast<uint32_t>(attrs.dilations[axis]);
  }
  if (XnnpackFindsPads(attrs, w)) {
    g.flags = XNN_FLAG_TENSORFLOW_SAME_PADDING;
    for (uint32_t& pad : g.pads) pad = 0;
  }
  g.groups = static_cast<uint32_t>(attrs.groups);
  g.group_input_channels = static_cast<size_t>(w[3]);
  g.group_output_channels = static_cast<size_t>(w[0] / attrs.groups);
  g.input_stride = RowsOf(x).stride;
  g.output_stride = RowsOf(y).stride;
  return OkStatus();
}

Status Convolution::Create(const ConvolutionWeights& weights) {
  const ConvolutionGeometry& g = geometry_;
  PackingKey key;
  key.kind = weights.kind;
  key.dtype = dtype_;
  key.has_bias = weights.bias != nullptr;
  key.weights = weights.weights_hash;
  key.bias = weights.bias_hash;
  // Pads and strides are no part of the packed bytes, but XNNPACK picks the kind of kernel by these two
  // questions.
  const bool any_pads = (g.pads[0] | g.pads[1] | g.pads[2] | g.pads[3]) != 0;
  const bool unit_strides = g.strides[0] == 1 && g.strides[1] == 1;
  const uint64_t parameters[] = {
      g.kernel[0], g.kernel[1], g.groups, g.group_input_channels, g.group_output_channels,
      any_pads,    unit_strides};
  for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); ++i) key.parameters[i] = parameters[i];

  return provider_.Make(operator_, key, g.packed(), [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
    if (IsF16(dtype_)) {
      return xnn_create_convolution2d_nhwc_f16(
          g.pads[0], g.pads[1], g.pads[2], g.pads[3], g.kernel[0], g.kernel[1], g.strides[0], g.strides[1],
          g.dilations[0], g.dilations[1], g.groups, g.group_input_channels, g.group_output_channels,
          g.input_stride, g.output_stride, weights.weights, weights.bias, g.min, g.max, g.flags, nullptr,
          cache, made);
    }
    return xnn_create_convolution2d_nhwc_f32(
        g.pads[0], g.pads[1], g.pads[2], g.pads[3], g.kernel[0], g.kernel[1], g.strides[0], g.strides[1],
        g.dilations[0], g.dilations[1], g.groups, g.group_input_channels, g.group_output_channels,
        g.input_stride, g.output_stride, static_cast<const float*>(weights.weights),
        static_cast<const float*>(weights.bias), g.min, g.max, g.flags, nullptr, cache, made);
  });
}

Status Convolution::Reshape(DType dtype, const ConvolutionGeometry& geometry,
                            const ConvolutionWeights& weights, const TensorView& input,
                            const TensorView& output, size_t* workspace_bytes) {
  if (!IndirectionFits(output.shape.ElementsBetween(1, 3), int64_t{geometry.kernel[0]} * geometry.kernel[1]))
    return Refuse();
  if (!operator_ || dtype != dtype_ || !(geometry == geometry_)) {
    dtype_ = dtype;
    geometry_ = geometry;
    SKIFF_RETURN_IF_ERROR(Create(weights));
  }
  const auto reshape = IsF16(dtype) ? xnn_reshape_convolution2d_nhwc_f16 : xnn_reshape_convolution2d_nhwc_f32;
  size_t alignment = 0;
  size_t height = 0;
  size_t width = 0;
  *workspace_bytes = 0;
  SKIFF_RETURN_IF_ERROR(FromXnn(reshape(
      operator_.get(), static_cast<size_t>(input.shape[0]), static_cast<size_t>(input.shape[1]),
      static_cast<size_t>(input.shape[2]), workspace_bytes, &alignment, &height, &width, environment_.pool)));
  const bool agreed =
      height == static_cast<size_t>(output.shape[1]) && width == static_cast<size_t>(output.shape[2]);
  return agreed ? OkStatus() : Refuse();
}

Status Convolution::Bind(void* workspace, const void* input, void* output) {
  if (IsF16(dtype_))
    return FromXnn(xnn_setup_convolution2d_nhwc_f16(operator_.get(), workspace, input, output));
  return FromXnn(xnn_setup_convolution2d_nhwc_f32(
      operator_.get(), workspace, static_cast<const float*>(input), static_cast<float*>(output)));
}

}  // namespace skiff::xnnpack
