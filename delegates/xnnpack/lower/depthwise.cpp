// Depthwise convolution with kernels of our own, which need no indirection buffer: a new shape costs nothing.
#include <algorithm>

#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// Rows of the output that one thread computes at a time: a multiple of the kernels' tiles.
constexpr size_t kBandRows = 6;

class DepthwiseStep final : public Step {
 public:
  DepthwiseStep(const NodeView& node, const Environment& environment, DepthwiseFn kernel)
      : Step(node, environment), kernel_(kernel) {}

  Status Reshape() override {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    const int64_t size = node_.in(1).shape[1];
    if (args_.weights == nullptr) SKIFF_RETURN_IF_ERROR(Pack());
    uint32_t pads[2] = {};
    for (int axis = 0; axis < 2; ++axis) {
      uint32_t end = 0;  // Taps beyond the picture's end are left out without being told.
      if (!FitPads(attrs.auto_pad, attrs.pads, axis, x.shape[1 + axis], y.shape[1 + axis], size,
                   attrs.strides[axis], /*dilation=*/1, &pads[axis], &end)) {
        return Refuse();
      }
    }
    args_.channels = static_cast<size_t>(x.shape[3]);
    args_.height = static_cast<size_t>(x.shape[1]);
    args_.width = static_cast<size_t>(x.shape[2]);
    args_.output_width = static_cast<size_t>(y.shape[2]);
    args_.x_stride = RowsOf(x).stride;
    args_.y_stride = RowsOf(y).stride;
    args_.top = static_cast<long>(pads[0]);
    args_.left = static_cast<long>(pads[1]);
    args_.min = attrs.min;
    args_.max = attrs.max;
    images_ = static_cast<size_t>(x.shape[0]);
    output_height_ = static_cast<size_t>(y.shape[1]);
    bands_ = (output_height_ + kBandRows - 1) / kBandRows;
    return OkStatus();
  }

  Status Bind(void*) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d(environment_.pool, &RunBand, this, images_ * bands_, /*flags=*/0);
    return OkStatus();
  }

 private:
  static void RunBand(void* step, size_t index) {
    const auto& self = *static_cast<const DepthwiseStep*>(step);
    const size_t image = index / self.bands_;
    const size_t first = index % self.bands_ * kBandRows;
    DepthwiseArgs args = self.args_;
    args.x += image * args.height * args.width * args.x_stride;
    args.y += image * self.output_height_ * args.output_width * args.y_stride;
    self.kernel_(args, first, std::min(first + kBandRows, self.output_height_));
  }

  /// As DepthwiseArgs::weights says.
  Status Pack() {
    const TensorView& w = node_.in(1);  // [channels, size, size, 1]
    const auto channels = static_cast<size_t>(w.shape[0]);
    const auto size = static_cast<size_t>(w.shape[1]);
    const size_t lanes = environment_.kernels->depthwise_channels;
    const size_t vectors = (channels + lanes - 1) / lanes;
    const bool has_bias = node_.Has(2);
    PackingKey key;
    key.kind = PackingKind::kDepthwise;
    key.dtype = w.dtype;
    key.has_bias = has_bias;
    key.weights = node_.input(1).hash;
    if (has_bias) key.bias = node_.input(2).hash;
    key.parameters[0] = channels;
    key.parameters[1] = size;
    key.parameters[2] = lanes;
    key.packed_bytes = vectors * (1 + size * size) * lanes * sizeof(float);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      auto* to = static_cast<float*>(blob);
      const auto* taps = w.as<const float>();
      const float* const bias = has_bias ? node_.in(2).as<const float>() : nullptr;
      for (size_t vector = 0; vector < vectors; ++vector) {
        const size_t first = std::min(vector * lanes, channels - lanes);
        for (size_t lane = 0; lane < lanes; ++lane) *to++ = bias == nullptr ? 0.0f : bias[first + lane];
        for (size_t tap = 0; tap < size * size; ++tap) {
          const size_t place = tap % size * size + tap / size;
          for (size_t lane = 0; lane < lanes; ++lane) *to++ = taps[(first + lane) * size * size + place];
        }
      }
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const float*>(packed);
    return OkStatus();
  }

  const DepthwiseFn kernel_;
  DepthwiseArgs args_;
  size_t images_ = 0;
  size_t output_height_ = 0;
  size_t bands_ = 0;
};

}  // namespace

DepthwiseFn FindDepthwise(const NodeView& node, const Kernels& kernels) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const TensorView& x = node.in(0);
  const Shape& w = node.in(1).shape;
  const bool one_each = attrs.groups == x.shape[3] && w[0] == attrs.groups && w[3] == 1;
  const bool square = w[1] == w[2] && attrs.strides[0] == attrs.strides[1];
  const bool dense = attrs.dilations[0] == 1 && attrs.dilations[1] == 1;
  if (x.dtype != DType::kF32 || !one_each || !square || !dense) return nullptr;
  if (attrs.groups < static_cast<int64_t>(kernels.depthwise_channels)) return nullptr;
  if (w[1] < 3 || w[1] > 7 || w[1] % 2 == 0 || attrs.strides[0] > 2) return nullptr;
  return kernels.depthwise[(w[1] - 3) / 2][attrs.strides[0] - 1];
}

Result<StepPointer> LowerDepthwise(const NodeView& node, const Environment& environment, DepthwiseFn kernel) {
  return MakeStep<DepthwiseStep>(node, environment, kernel);
}

}  // namespace skiff::xnnpack
