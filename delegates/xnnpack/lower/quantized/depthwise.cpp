// Depthwise convolution of codes by kernels of our own: a band of lines becomes integers less their zero
// point, two neighbours in a word.
#include <algorithm>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/window_bands.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

class CodeDepthwiseStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    DenseShape shape;
    SKIFF_RETURN_IF_ERROR(bands_.Describe(node_, /*always_copies=*/true, &shape));
    size_ = static_cast<size_t>(node_.in(1).shape[1]);
    args_.channels = bands_.channels;
    args_.output_width = bands_.outputs[1];
    args_.y_stride = shape.y_stride;
    args_.line_stride = bands_.band_width * bands_.channels;
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    // Lines at a band's ends are made twice: bands as large as the second-level cache holds.
    bands_.Divide(threads, /*panels=*/1, sizeof(int32_t), /*weight_bytes=*/SIZE_MAX);
    // Of integers, and of words; pairs at a line's end take one pixel more, which weights of 0 meet.
    line_elements_ = DivideUp((bands_.band_width + 1) * bands_.channels, 32) * 32;
    band_words_ = bands_.band_elements;
    workspace_bytes_ = threads * (line_elements_ * sizeof(int16_t) + band_words_ * sizeof(int32_t));
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const uint8_t>();
    args_.y = node_.out(0).data;
    workspace_ = static_cast<uint8_t*>(workspace);
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
    terms.SetCodes(&args_);
    const size_t lanes = environment_.kernels->depthwise_channels;
    const size_t pairs = DivideUp(size_, 2);
    const size_t words = (2 + size_ * pairs) * lanes;
    PackingKey key;
    key.kind = PackingKind::kCodeDepthwise;
    key.dtype = node_.in(1).dtype;
    key.has_bias = terms.bias() != nullptr;
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    key.parameters[0] = channels;
    key.parameters[1] = size_;
    key.parameters[2] = lanes;
    key.packed_bytes = DivideUp(channels, lanes) * words * sizeof(int32_t);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      for (size_t first = 0; first < channels; first += lanes)
        PackVector(terms, std::min(first, channels - lanes),
                   static_cast<int32_t*>(blob) + first / lanes * words);
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    return OkStatus();
  }

  void PackVector(const ProductTerms& terms, size_t first, int32_t* to) const {
    const TensorView& w = node_.in(1);  // [channels, size, size, 1]
    const size_t lanes = environment_.kernels->depthwise_channels;
    const size_t pairs = DivideUp(size_, 2);
    std::fill_n(to, (2 + size_ * pairs) * lanes, 0);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const size_t channel = first + lane;
      if (terms.bias() != nullptr) to[lane] = terms.bias()[channel];
      reinterpret_cast<float*>(to + lanes)[lane] = terms.factor(channel);
      for (size_t tap = 0; tap < size_ * size_; ++tap) {
        const size_t column = tap % size_;
        auto* const words = reinterpret_cast<int16_t*>(to + (2 + tap / size_ * pairs + column / 2) * lanes);
        words[2 * lane + column % 2] = terms.WeightAt(w, channel * size_ * size_ + tap);
      }
    }
  }

  void RunBand(size_t thread, size_t index) const {
    const WindowBands& b = bands_;
    const WindowBands::Band at = b.BandAt(index);
    const Kernels& kernels = *environment_.kernels;
    const uint8_t* const x = x_ + at.pixel * b.x_stride;
    uint8_t* const mine =
        workspace_ + thread * (line_elements_ * sizeof(int16_t) + band_words_ * sizeof(int32_t));
    auto* const line = reinterpret_cast<int16_t*>(mine);
    auto* const made = reinterpret_cast<int32_t*>(mine + line_elements_ * sizeof(int16_t));
    const size_t width = b.band_width * b.channels;
    std::fill_n(line + width, b.channels, int16_t{0});
    for (size_t i = 0; i < at.lines; ++i) {
      b.Make(at.line + static_cast<long>(i), 1, line, [&](size_t pixel, size_t count, int16_t* to) {
        WidenPixels(kernels, node_.in(0), x + pixel * b.x_stride, count, to);
      });
      kernels.codes.pair(width, b.channels, line, made + i * width);
    }
    CodeDepthwiseArgs args = args_;
    args.x = made;
    args.y = static_cast<uint8_t*>(args_.y) + at.output_pixel * args_.y_stride;
    kernels.codes.depthwise[(size_ - 3) / 2][b.strides[0] - 1][CodeTypeOf(node_.in(0).dtype)](
        args, at.output_pixels / args.output_width);
  }

  const uint8_t* x_ = nullptr;
  uint8_t* workspace_ = nullptr;
  CodeDepthwiseArgs args_;
  WindowBands bands_;
  size_t size_ = 0;
  size_t line_elements_ = 0;
  size_t band_words_ = 0;
};

}  // namespace

bool RunsCodeDepthwise(const NodeView& node, const Environment& environment) {
  const Kernels& kernels = *environment.kernels;
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const TensorView& x = node.in(0);
  if (x.quantization == nullptr || DTypeSize(x.dtype) != 1) return false;
  if (kernels.codes.pair == nullptr || !IsSquareDepthwise(node, kernels)) return false;
  return kernels.codes.depthwise[(w[1] - 3) / 2][attrs.strides[0] - 1][CodeTypeOf(x.dtype)] != nullptr;
}

Result<StepPointer> LowerCodeDepthwise(const NodeView& node, const Environment& environment) {
  return MakeStep<CodeDepthwiseStep>(node, environment);
}

}  // namespace skiff::xnnpack
