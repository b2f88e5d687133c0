// Windows of pictures whose codes are chosen at run time, one scale for each picture, to f32.
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/memory.h"

namespace skiff::xnnpack {
namespace {

/// One picture after the other: an operator of XNNPACK's that has met a batch cannot meet a larger one,
/// because its buffers of what pads a picture do not become more.
class RowCodesConvolutionStep final : public Step {
 public:
  RowCodesConvolutionStep(const NodeView& node, const Environment& environment, const TensorView& weights)
      : Step(node, environment), weights_(weights), provider_(environment.weights) {
    wants_codes_ = true;
    packs_stored_ = true;
  }

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    ConvolutionGeometry g;
    SKIFF_RETURN_IF_ERROR(DescribeConvolution(node_, &g));
    if (!x.dense() || !IndirectionFits(y.shape.ElementsBetween(1, 3), int64_t{g.kernel[0]} * g.kernel[1]))
      return Refuse();
    if (!operator_ || !(g == geometry_)) {
      geometry_ = g;
      SKIFF_RETURN_IF_ERROR(Create());
    }
    pictures_ = static_cast<size_t>(x.shape[0]);
    picture_codes_ = static_cast<size_t>(x.shape.ElementsBetween(1, 4));
    picture_results_ = static_cast<size_t>(y.shape.ElementsBetween(1, 3)) * g.output_stride;
    SKIFF_RETURN_IF_ERROR(params_.Reshape(pictures_));
    Spare spare;
    SKIFF_RETURN_IF_ERROR(spare.Find());
    size_t alignment = 0;
    size_t height = 0;
    size_t width = 0;
    workspace_bytes_ = 0;
    SKIFF_RETURN_IF_ERROR(FromXnn(xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w(
        operator_.get(), /*batch_size=*/1, static_cast<size_t>(x.shape[1]), static_cast<size_t>(x.shape[2]),
        &workspace_bytes_, &alignment, &height, &width, environment_.pool)));
    const bool agreed = height == static_cast<size_t>(y.shape[1]) && width == static_cast<size_t>(y.shape[2]);
    return agreed ? OkStatus() : Refuse();
  }

  Status Bind(void* workspace) override {
    workspace_ = workspace;
    all_params_ = params_.Bind(*codes_);
    return SetUp(0);
  }

  Status Run() override {
    params_.Fill(*codes_);
    for (size_t picture = 0; picture < pictures_; ++picture) {
      if (pictures_ > 1) SKIFF_RETURN_IF_ERROR(SetUp(picture));
      SKIFF_RETURN_IF_ERROR(operator_.Run(environment_.pool));
    }
    const size_t stride = geometry_.output_stride;
    params_.KeepNan(node_.out(0).as<float>(), picture_results_ / stride, geometry_.group_output_channels,
                    stride);
    return OkStatus();
  }

 private:
  Status SetUp(size_t picture) {
    return FromXnn(xnn_setup_convolution2d_nhwc_qd8_f32_qc8w(
        operator_.get(), workspace_, codes_->codes() + picture * picture_codes_,
        node_.out(0).as<float>() + picture * picture_results_, all_params_ + picture));
  }

  Status Create() {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const ConvolutionGeometry& g = geometry_;
    RowTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, weights_, g.group_output_channels));
    PackingKey key = terms.Key(PackingKind::kRowCodesConvolution, node_, weights_);
    // As of f32 (convolution.cpp).
    const bool any_pads = (g.pads[0] | g.pads[1] | g.pads[2] | g.pads[3]) != 0;
    const bool unit_strides = g.strides[0] == 1 && g.strides[1] == 1;
    const uint64_t parameters[] = {g.kernel[0], g.kernel[1], g.group_input_channels, g.group_output_channels,
                                   any_pads,    unit_strides};
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); ++i) key.parameters[i] = parameters[i];
    return provider_.Make(operator_, key, g.packed(), [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
      return xnn_create_convolution2d_nhwc_qd8_f32_qc8w(
          g.pads[0], g.pads[1], g.pads[2], g.pads[3], g.kernel[0], g.kernel[1], g.strides[0], g.strides[1],
          g.dilations[0], g.dilations[1], /*groups=*/1, g.group_input_channels, g.group_output_channels,
          g.input_stride, g.output_stride, terms.scales(), weights_.as<const int8_t>(), terms.bias(),
          attrs.min, attrs.max, g.flags, nullptr, cache, made);
    });
  }

  const TensorView weights_;
  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  ConvolutionGeometry geometry_;
  RowParams params_;
  const xnn_quantization_params* all_params_ = nullptr;  ///< One for each picture.
  void* workspace_ = nullptr;
  size_t pictures_ = 0;
  size_t picture_codes_ = 0;
  size_t picture_results_ = 0;  ///< Elements from picture to picture.
};

}  // namespace

Result<StepPointer> LowerRowCodesConvolution(const NodeView& node, const Environment& environment,
                                             const TensorView& weights) {
  return MakeStep<RowCodesConvolutionStep>(node, environment, weights);
}

}  // namespace skiff::xnnpack
