// Convolution and transposed convolution of codes: i8 with a scale for each output channel, u8 with one
// scale.
#include "delegates/xnnpack/lower/convolution.h"

#include <iterator>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/joined_groups.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"

namespace skiff::xnnpack {
namespace {

bool Agrees(const TensorView& y, size_t height, size_t width) {
  return height == static_cast<size_t>(y.shape[1]) && width == static_cast<size_t>(y.shape[2]);
}

template <class... Parameters>
void SetParameters(PackingKey* key, Parameters... parameters) {
  static_assert(sizeof...(parameters) <= std::size(PackingKey().parameters));
  size_t i = 0;
  ((key->parameters[i++] = static_cast<uint64_t>(parameters)), ...);
}

class QuantizedConvolutionStep final : public Step {
 public:
  QuantizedConvolutionStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), provider_(environment.weights) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    ConvolutionGeometry g;
    SKIFF_RETURN_IF_ERROR(DescribeConvolution(node_, &g));
    joined_ = JoinGroups(&g);
    if (!IndirectionFits(y.shape.ElementsBetween(1, 3), int64_t{g.kernel[0]} * g.kernel[1])) return Refuse();
    if (!operator_ || !(g == geometry_)) {
      geometry_ = g;
      SKIFF_RETURN_IF_ERROR(Create());
    }
    const auto reshape =
        is_signed_ ? xnn_reshape_convolution2d_nhwc_qs8_qc8w : xnn_reshape_convolution2d_nhwc_qu8;
    size_t alignment = 0;
    size_t height = 0;
    size_t width = 0;
    workspace_bytes_ = 0;
    SKIFF_RETURN_IF_ERROR(FromXnn(reshape(
        operator_.get(), static_cast<size_t>(x.shape[0]), static_cast<size_t>(x.shape[1]),
        static_cast<size_t>(x.shape[2]), &workspace_bytes_, &alignment, &height, &width, environment_.pool)));
    return Agrees(y, height, width) ? OkStatus() : Refuse();
  }

  Status Bind(void* workspace) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    return FromXnn(is_signed_ ? xnn_setup_convolution2d_nhwc_qs8_qc8w(operator_.get(), workspace,
                                                                      x.as<const int8_t>(), y.as<int8_t>())
                              : xnn_setup_convolution2d_nhwc_qu8(operator_.get(), workspace,
                                                                 x.as<const uint8_t>(), y.as<uint8_t>()));
  }

  Status Run() override { return operator_.Run(environment_.pool); }

 private:
  /// XNNPACK's kernels that multiply bytes make 16 outputs at a time.
  size_t JoinGroups(ConvolutionGeometry* g) const {
    constexpr size_t kOutputs = 16;
    if (!is_signed_ || !HasFasterSums(*environment_.kernels) || g->group_input_channels == 1) return 1;
    const size_t joined =
        GroupsToJoin(g->groups, g->group_input_channels, g->group_output_channels, kOutputs);
    g->groups /= static_cast<uint32_t>(joined);
    g->group_input_channels *= joined;
    g->group_output_channels *= joined;
    return joined;
  }

  Status Create() {
    const ConvolutionGeometry& g = geometry_;
    const auto& attrs = node_.As<Conv2dAttrs>();
    const TensorView& w = node_.in(1);
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, g.groups * g.group_output_channels, attrs.min, attrs.max));
    PackingKey key;
    key.kind = PackingKind::kConvolution;
    key.dtype = w.dtype;
    key.has_bias = node_.Has(2);
    key.flags = g.flags;
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    // As of convolutions of f32 (convolution.cpp).
    const bool any_pads = (g.pads[0] | g.pads[1] | g.pads[2] | g.pads[3]) != 0;
    const bool unit_strides = g.strides[0] == 1 && g.strides[1] == 1;
    SetParameters(&key, g.kernel[0], g.kernel[1], g.groups, g.group_input_channels, g.group_output_channels,
                  any_pads, unit_strides);
    FixedArray<int8_t> weights;
    if (joined_ > 1) SKIFF_RETURN_IF_ERROR(JoinWeights(w, g.groups * joined_, joined_, &weights));
    return provider_.Make(operator_, key, g.packed(), [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
      if (is_signed_) {
        return xnn_create_convolution2d_nhwc_qs8_qc8w(
            g.pads[0], g.pads[1], g.pads[2], g.pads[3], g.kernel[0], g.kernel[1], g.strides[0], g.strides[1],
            g.dilations[0], g.dilations[1], g.groups, g.group_input_channels, g.group_output_channels,
            g.input_stride, g.output_stride, terms.x_zero_point<int8_t>(), terms.x_scale(), terms.scales(),
            joined_ > 1 ? weights.data() : w.as<const int8_t>(), terms.bias(), terms.y_zero_point<int8_t>(),
            terms.y_scale(), terms.low<int8_t>(), terms.high<int8_t>(), g.flags, nullptr, cache, made);
      }
      return xnn_create_convolution2d_nhwc_qu8(
          g.pads[0], g.pads[1], g.pads[2], g.pads[3], g.kernel[0], g.kernel[1], g.strides[0], g.strides[1],
          g.dilations[0], g.dilations[1], g.groups, g.group_input_channels, g.group_output_channels,
          g.input_stride, g.output_stride, terms.x_zero_point<uint8_t>(), terms.x_scale(),
          terms.weights_zero_point<uint8_t>(), terms.scales()[0], w.as<const uint8_t>(), terms.bias(),
          terms.y_zero_point<uint8_t>(), terms.y_scale(), terms.low<uint8_t>(), terms.high<uint8_t>(),
          g.flags, nullptr, cache, made);
    });
  }

  const bool is_signed_ = node_.in(0).dtype == DType::kI8;
  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  ConvolutionGeometry geometry_;
  size_t joined_ = 1;  ///< Groups of the node in one of the geometry.
};

class QuantizedTransposedStep final : public Step {
 public:
  QuantizedTransposedStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), provider_(environment.weights) {}

  Status Reshape() override {
    const auto& attrs = node_.As<ConvTranspose2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& w = node_.in(1);
    const TensorView& y = node_.out(0);
    if (!TransposedFits(w, y, attrs.strides)) return Refuse();
    const size_t strides[2] = {RowsOf(x).stride, RowsOf(y).stride};
    if (!operator_ || strides[0] != created_strides_[0] || strides[1] != created_strides_[1]) {
      SKIFF_RETURN_IF_ERROR(Create(attrs, w, strides));
      created_strides_[0] = strides[0];
      created_strides_[1] = strides[1];
    }
    const auto reshape =
        is_signed_ ? xnn_reshape_deconvolution2d_nhwc_qs8_qc8w : xnn_reshape_deconvolution2d_nhwc_qu8;
    size_t height = 0;
    size_t width = 0;
    SKIFF_RETURN_IF_ERROR(
        FromXnn(reshape(operator_.get(), static_cast<size_t>(x.shape[0]), static_cast<size_t>(x.shape[1]),
                        static_cast<size_t>(x.shape[2]), static_cast<uint32_t>(attrs.output_pads[0]),
                        static_cast<uint32_t>(attrs.output_pads[1]), &height, &width, environment_.pool)));
    return Agrees(y, height, width) ? OkStatus() : Refuse();
  }

  Status Bind(void*) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    return FromXnn(
        is_signed_
            ? xnn_setup_deconvolution2d_nhwc_qs8_qc8w(operator_.get(), x.as<const int8_t>(), y.as<int8_t>())
            : xnn_setup_deconvolution2d_nhwc_qu8(operator_.get(), x.as<const uint8_t>(), y.as<uint8_t>()));
  }

  Status Run() override { return operator_.Run(environment_.pool); }

 private:
  Status Create(const ConvTranspose2dAttrs& attrs, const TensorView& w, const size_t (&strides)[2]) {
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const auto inputs = static_cast<size_t>(w.shape[3]);
    const auto outputs = static_cast<size_t>(w.shape[0] / attrs.groups);
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, static_cast<size_t>(w.shape[0]), attrs.min, attrs.max));
    PackingKey key;
    key.kind = PackingKind::kTransposedConvolution;
    key.dtype = w.dtype;
    key.has_bias = node_.Has(2);
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    SetParameters(&key, w.shape[1], w.shape[2], attrs.groups, w.shape[3], w.shape[0], attrs.strides[0],
                  attrs.strides[1], attrs.dilations[0], attrs.dilations[1]);
    return provider_.Make(
        operator_, key, TransposedExtents(w.shape, attrs.groups),
        [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
          if (is_signed_) {
            return xnn_create_deconvolution2d_nhwc_qs8_qc8w(
                u32(attrs.pads[0]), u32(attrs.pads[3]), u32(attrs.pads[2]), u32(attrs.pads[1]),
                u32(w.shape[1]), u32(w.shape[2]), u32(attrs.strides[0]), u32(attrs.strides[1]),
                u32(attrs.dilations[0]), u32(attrs.dilations[1]), u32(attrs.groups), inputs, outputs,
                strides[0], strides[1], terms.x_zero_point<int8_t>(), terms.x_scale(), terms.scales(),
                w.as<const int8_t>(), terms.bias(), terms.y_zero_point<int8_t>(), terms.y_scale(),
                terms.low<int8_t>(), terms.high<int8_t>(),
                /*flags=*/0, nullptr, cache, made);
          }
          return xnn_create_deconvolution2d_nhwc_qu8(
              u32(attrs.pads[0]), u32(attrs.pads[3]), u32(attrs.pads[2]), u32(attrs.pads[1]), u32(w.shape[1]),
              u32(w.shape[2]), u32(attrs.strides[0]), u32(attrs.strides[1]), u32(attrs.dilations[0]),
              u32(attrs.dilations[1]), u32(attrs.groups), inputs, outputs, strides[0], strides[1],
              terms.x_zero_point<uint8_t>(), terms.x_scale(), terms.weights_zero_point<uint8_t>(),
              terms.scales()[0], w.as<const uint8_t>(), terms.bias(), terms.y_zero_point<uint8_t>(),
              terms.y_scale(), terms.low<uint8_t>(), terms.high<uint8_t>(), /*flags=*/0, nullptr, cache,
              made);
        });
  }

  const bool is_signed_ = node_.in(0).dtype == DType::kI8;
  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  size_t created_strides_[2] = {};
};

}  // namespace

Result<StepPointer> LowerXnnpackQuantizedConv2d(const NodeView& node, const Environment& environment) {
  return MakeStep<QuantizedConvolutionStep>(node, environment);
}

Result<StepPointer> LowerQuantizedConv2d(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<Conv2dAttrs>();
  if (kHasOwnKernels && RunsByteDepthwise(node, environment)) return LowerByteDepthwise(node, environment);
  if (kHasOwnKernels && RunsCodeDepthwise(node, environment)) return LowerCodeDepthwise(node, environment);
  if (kHasCodeWinograd && MayRunCodeWinograd(node, environment)) return LowerCodeWinograd(node, environment);
  if (kHasOwnKernels && RunsCodeDense(node, environment))
    return LowerCodeDense(node, environment, {attrs.min, attrs.max, /*transposed=*/false});
  return LowerXnnpackQuantizedConv2d(node, environment);
}

Result<StepPointer> LowerQuantizedConvTranspose2d(const NodeView& node, const Environment& environment) {
  return MakeStep<QuantizedTransposedStep>(node, environment);
}

}  // namespace skiff::xnnpack
