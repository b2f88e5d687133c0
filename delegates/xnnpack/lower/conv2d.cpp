// Convolution, transposed convolution, and BatchNorm that could not be folded.
#include <cstring>

#include "core/fixed_array.h"
#include "core/half.h"
#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"

namespace skiff::xnnpack {
namespace {

class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), convolution_(environment) {}

  Status Reshape() override {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const TensorView& w = node_.in(1);
    ConvolutionGeometry g;
    SKIFF_RETURN_IF_ERROR(DescribeConvolution(node_, &g));
    g.min = attrs.min;
    g.max = attrs.max;
    ConvolutionWeights weights;
    weights.weights = w.data;
    weights.weights_hash = node_.input(1).hash;
    if (node_.Has(2)) {
      weights.bias = node_.in(2).data;
      weights.bias_hash = node_.input(2).hash;
    }
    return convolution_.Reshape(node_.in(0).dtype, g, weights, node_.in(0), node_.out(0), &workspace_bytes_);
  }

  Status Bind(void* workspace) override {
    return convolution_.Bind(workspace, node_.in(0).data, node_.out(0).data);
  }
  Status Run() override { return convolution_.Run(); }

 private:
  Convolution convolution_;
};

/// x * scale / sqrt(variance + epsilon) + ..., as a depthwise 1x1 convolution; XNNPACK has a kernel for just
/// that.
class BatchNormStep final : public Step {
 public:
  BatchNormStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), convolution_(environment) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    if (factors_.empty()) SKIFF_RETURN_IF_ERROR(ComputeBatchNormFactors(node_, &factors_));
    const Rows from = RowsOf(x);
    const Rows to = RowsOf(node_.out(0));
    ConvolutionGeometry g;
    g.groups = static_cast<uint32_t>(from.length);
    g.group_input_channels = 1;
    g.group_output_channels = 1;
    g.input_stride = from.stride;
    g.output_stride = to.stride;
    ConvolutionWeights weights;
    weights.kind = PackingKind::kBatchNorm;
    weights.weights = factors_.data();
    weights.bias = factors_.data() + from.length;
    // The factors follow from four vectors; any change in one of them changes the sums.
    for (size_t i = 1; i < 5; ++i) {
      const ContentHash& hash = node_.input(i).hash;
      (i < 3 ? weights.weights_hash : weights.bias_hash).low += i * hash.low;
      (i < 3 ? weights.weights_hash : weights.bias_hash).high += i * hash.high;
    }
    const float epsilon = node_.As<NormAttrs>().epsilon;
    uint32_t bits = 0;
    std::memcpy(&bits, &epsilon, sizeof(bits));
    weights.weights_hash.low ^= bits;
    const Shape pixels{1, 1, static_cast<int64_t>(from.count), static_cast<int64_t>(from.length)};
    const TensorView flat(nullptr, x.dtype, pixels);
    return convolution_.Reshape(x.dtype, g, weights, flat, flat, &workspace_bytes_);
  }

  Status Bind(void* workspace) override {
    return convolution_.Bind(workspace, node_.in(0).data, node_.out(0).data);
  }
  Status Run() override { return convolution_.Run(); }

 private:
  FixedArray<float> factors_;
  Convolution convolution_;
};

class TransposedStep final : public OperatorStep {
 public:
  TransposedStep(const NodeView& node, const Environment& environment)
      : OperatorStep(node, environment), provider_(environment.weights) {}
  ~TransposedStep() override { operator_.Reset(); }  // Before the provider that it uses.

  Status Reshape() override {
    const auto& attrs = node_.As<ConvTranspose2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& w = node_.in(1);
    const TensorView& y = node_.out(0);
    if (!TransposedFits(w, y, attrs.strides)) return Refuse();
    const bool f16 = IsF16(x.dtype);
    const size_t strides[2] = {RowsOf(x).stride, RowsOf(y).stride};
    if (!operator_ || strides[0] != created_strides_[0] || strides[1] != created_strides_[1]) {
      SKIFF_RETURN_IF_ERROR(Create(attrs, w, f16, strides));
      created_strides_[0] = strides[0];
      created_strides_[1] = strides[1];
    }
    const auto reshape = f16 ? xnn_reshape_deconvolution2d_nhwc_f16 : xnn_reshape_deconvolution2d_nhwc_f32;
    size_t height = 0;
    size_t width = 0;
    SKIFF_RETURN_IF_ERROR(
        FromXnn(reshape(operator_.get(), static_cast<size_t>(x.shape[0]), static_cast<size_t>(x.shape[1]),
                        static_cast<size_t>(x.shape[2]), static_cast<uint32_t>(attrs.output_pads[0]),
                        static_cast<uint32_t>(attrs.output_pads[1]), &height, &width, environment_.pool)));
    const bool agreed = height == static_cast<size_t>(y.shape[1]) && width == static_cast<size_t>(y.shape[2]);
    return agreed ? OkStatus() : Refuse();
  }

  Status Bind(void*) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (IsF16(x.dtype)) return FromXnn(xnn_setup_deconvolution2d_nhwc_f16(operator_.get(), x.data, y.data));
    return FromXnn(xnn_setup_deconvolution2d_nhwc_f32(operator_.get(), x.as<const float>(), y.as<float>()));
  }

 private:
  Status Create(const ConvTranspose2dAttrs& attrs, const TensorView& w, bool f16,
                const size_t (&strides)[2]) {
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const auto inputs = static_cast<size_t>(w.shape[3]);
    const auto outputs = static_cast<size_t>(w.shape[0] / attrs.groups);
    const void* bias = node_.Has(2) ? node_.in(2).data : nullptr;
    PackingKey key;
    key.kind = PackingKind::kTransposedConvolution;
    key.dtype = w.dtype;
    key.has_bias = bias != nullptr;
    key.weights = node_.input(1).hash;
    if (bias != nullptr) key.bias = node_.input(2).hash;
    // A stride splits the kernel into sub-kernels; a dilation forbids that.
    const int64_t parameters[] = {w.shape[1],       w.shape[2],         attrs.groups,
                                  w.shape[3],       w.shape[0],         attrs.strides[0],
                                  attrs.strides[1], attrs.dilations[0], attrs.dilations[1]};
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); ++i)
      key.parameters[i] = static_cast<uint64_t>(parameters[i]);
    return provider_.Make(operator_, key, TransposedExtents(w.shape, attrs.groups),
                          [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
                            if (f16) {
                              return xnn_create_deconvolution2d_nhwc_f16(
                                  u32(attrs.pads[0]), u32(attrs.pads[3]), u32(attrs.pads[2]),
                                  u32(attrs.pads[1]), u32(w.shape[1]), u32(w.shape[2]), u32(attrs.strides[0]),
                                  u32(attrs.strides[1]), u32(attrs.dilations[0]), u32(attrs.dilations[1]),
                                  u32(attrs.groups), inputs, outputs, strides[0], strides[1], w.data, bias,
                                  attrs.min, attrs.max, /*flags=*/0, nullptr, cache, made);
                            }
                            return xnn_create_deconvolution2d_nhwc_f32(
                                u32(attrs.pads[0]), u32(attrs.pads[3]), u32(attrs.pads[2]),
                                u32(attrs.pads[1]), u32(w.shape[1]), u32(w.shape[2]), u32(attrs.strides[0]),
                                u32(attrs.strides[1]), u32(attrs.dilations[0]), u32(attrs.dilations[1]),
                                u32(attrs.groups), inputs, outputs, strides[0], strides[1],
                                w.as<const float>(), static_cast<const float*>(bias), attrs.min, attrs.max,
                                /*flags=*/0, nullptr, cache, made);
                          });
  }

  WeightsProvider provider_;
  size_t created_strides_[2] = {};
};

}  // namespace

Result<StepPointer> LowerConv2d(const NodeView& node, const Environment& environment) {
  if (kHasRowCodes && RunsOnRowCodes(node, environment)) return LowerRowCodes(node, environment);
  if (kHasOwnKernels && RunsScaleRows(node)) return LowerScaleRows(node, environment);
  if (const DepthwiseFn kernel = kHasOwnConvolutions ? FindDepthwise(node, *environment.kernels) : nullptr)
    return LowerDepthwise(node, environment, kernel);
  if (kHasOwnConvolutions && MayRunWinograd(node, environment)) return LowerWinograd(node, environment);
  if (kHasOwnKernels && RunsDenseConvolution(node, environment))
    return LowerDenseConvolution(node, environment);
  return LowerXnnpackConvolution(node, environment);
}

Result<StepPointer> LowerXnnpackConvolution(const NodeView& node, const Environment& environment) {
  return MakeStep<ConvolutionStep>(node, environment);
}

Result<StepPointer> LowerConvTranspose2d(const NodeView& node, const Environment& environment) {
  return MakeStep<TransposedStep>(node, environment);
}

Result<StepPointer> LowerBatchNorm(const NodeView& node, const Environment& environment) {
  if (kHasOwnKernels) return LowerScaleRows(node, environment);
  return MakeStep<BatchNormStep>(node, environment);
}

}  // namespace skiff::xnnpack
