// Depthwise convolution of codes by kernels of our own: a band of lines becomes reals, codes less their zero
// point, with its pads around it.
#include <algorithm>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/window_bands.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// So many products of codes and weights, each up to 255 away from its zero point, are exact as f32.
constexpr int64_t kMostTaps = 258;

class CodeDepthwiseStep final : public Step {
 public:
  CodeDepthwiseStep(const NodeView& node, const Environment& environment, CodeDepthwiseFn kernel)
      : Step(node, environment),
        kernel_(kernel),
        takes_any_(kernel == environment.kernels->codes.depthwise_of_any) {}

  Status Reshape() override {
    DenseShape shape;
    SKIFF_RETURN_IF_ERROR(bands_.Describe(node_, /*always_copies=*/true, &shape));
    const auto& attrs = node_.As<Conv2dAttrs>();
    for (int axis = 0; axis < 2; ++axis) {
      args_.kernel[axis] = static_cast<size_t>(node_.in(1).shape[1 + axis]);
      args_.strides[axis] = bands_.strides[axis];
      args_.dilations[axis] = static_cast<size_t>(attrs.dilations[axis]);
    }
    args_.channels = args_.x_stride = bands_.channels;
    args_.width = bands_.band_width;
    args_.output_width = bands_.outputs[1];
    args_.y_stride = shape.y_stride;
    args_.SetDenseLines();
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    // Lines at a band's ends are made twice: bands as large as the second-level cache holds.
    bands_.Divide(threads, /*panels=*/1, sizeof(float), /*weight_bytes=*/SIZE_MAX);
    workspace_bytes_ = threads * bands_.band_elements * sizeof(float);
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const uint8_t>();
    args_.codes = node_.out(0).data;
    workspace_ = static_cast<float*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t band) {
          static_cast<const CodeDepthwiseStep*>(step)->RunBand(thread, band);
        },
        this, bands_.bands(), /*flags=*/0);
    return OkStatus();
  }

 private:
  /// As CodeDepthwiseArgs::weights says.
  Status Pack() {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const size_t channels = bands_.channels;
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, channels, attrs.min, attrs.max));
    terms.SetCodes(node_.out(0).dtype, &args_);
    const size_t lanes = environment_.kernels->depthwise_channels;
    const size_t words = (2 + taps()) * lanes;
    PackingKey key;
    key.kind = PackingKind::kCodeDepthwise;
    key.dtype = node_.in(1).dtype;
    key.has_bias = terms.bias() != nullptr;
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    key.parameters[0] = channels;
    key.parameters[1] = args_.kernel[0];
    key.parameters[2] = lanes;
    key.parameters[3] = args_.kernel[1];
    key.parameters[4] = takes_any_ ? 1 : 0;
    key.packed_bytes = DivideUp(channels, lanes) * words * sizeof(int32_t);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      for (size_t first = 0; first < channels; first += lanes)
        PackVector(terms, std::min(first, channels - lanes),
                   static_cast<float*>(blob) + first / lanes * words);
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const float*>(packed);
    return OkStatus();
  }

  void PackVector(const ProductTerms& terms, size_t first, float* to) const {
    const TensorView& w = node_.in(1);  // [channels, rows, columns, 1]
    const auto& [rows, columns] = args_.kernel;
    const size_t lanes = environment_.kernels->depthwise_channels;
    for (size_t lane = 0; lane < lanes; ++lane, ++to) {
      const size_t channel = first + lane;
      *to = terms.bias() != nullptr ? static_cast<float>(terms.bias()[channel]) : 0.0f;
      to[lanes] = terms.factor(channel);
      for (size_t tap = 0; tap < taps(); ++tap) {
        const size_t place = takes_any_ ? tap : tap % rows * columns + tap / rows;
        to[(2 + tap) * lanes] = terms.WeightAt(w, channel * taps() + place);
      }
    }
  }

  void RunBand(size_t thread, size_t index) const {
    const WindowBands& b = bands_;
    const WindowBands::Band at = b.BandAt(index);
    const Kernels& kernels = *environment_.kernels;
    const uint8_t* const x = x_ + at.pixel * b.x_stride;
    float* const made = workspace_ + thread * b.band_elements;
    const int zero_point = node_.in(0).quantization->zero_point;
    b.Make(at.line, at.lines, 0.0f, made, [&](size_t pixel, size_t count, float* to) {
      WidenPixels(kernels.codes.to_reals, node_.in(0), zero_point, x + pixel * b.x_stride, count, to);
    });
    CodeDepthwiseArgs args = args_;
    args.x = made;
    args.height = at.lines;
    args.codes = static_cast<uint8_t*>(args_.codes) + at.output_pixel * args_.y_stride;
    kernel_(args, 0, at.output_pixels / args.output_width);
  }

  size_t taps() const { return args_.kernel[0] * args_.kernel[1]; }

  const CodeDepthwiseFn kernel_;
  const bool takes_any_;  ///< Windows.
  const uint8_t* x_ = nullptr;
  float* workspace_ = nullptr;
  CodeDepthwiseArgs args_;
  WindowBands bands_;
};

CodeDepthwiseFn FindCodeDepthwise(const NodeView& node, const Environment& environment) {
  const Kernels& kernels = *environment.kernels;
  const Shape& w = node.in(1).shape;
  const TensorView& x = node.in(0);
  if (x.quantization == nullptr || DTypeSize(x.dtype) != 1 || !IsDepthwise(node, kernels)) return nullptr;
  if (IsSquareDepthwise(node, kernels))
    return kernels.codes.depthwise[(w[1] - 3) / 2][node.As<Conv2dAttrs>().strides[0] - 1];
  // Each input becomes a real first: of small windows far apart, that takes longer than XNNPACK's kernels.
  const auto& strides = node.As<Conv2dAttrs>().strides;
  const int64_t taps = w[1] * w[2];
  const bool pays = taps > kFewTaps && taps > 3 * strides[0] * strides[1];
  return pays && taps <= kMostTaps ? kernels.codes.depthwise_of_any : nullptr;
}

}  // namespace

bool RunsCodeDepthwise(const NodeView& node, const Environment& environment) {
  return FindCodeDepthwise(node, environment) != nullptr;
}

Result<StepPointer> LowerCodeDepthwise(const NodeView& node, const Environment& environment) {
  return MakeStep<CodeDepthwiseStep>(node, environment, FindCodeDepthwise(node, environment));
}

}  // namespace skiff::xnnpack
