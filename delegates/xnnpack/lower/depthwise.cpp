// Depthwise convolution with kernels of our own, which need no indirection buffer: a new shape costs nothing.
#include <algorithm>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// Rows of the output that one thread computes at a time: a multiple of the kernels' tiles.
constexpr size_t kBandRows = 6;
/// The same of a strip, in multiples: tiles are up to three rows high, and more lines of a wide picture
/// would not fit into the cache.
constexpr size_t kStripRows = 2;

/// The taps.
bool AreSideBySide(const Conv2dAttrs& attrs) { return attrs.dilations[0] == 1 && attrs.dilations[1] == 1; }

class DepthwiseStep final : public Step {
 public:
  DepthwiseStep(const NodeView& node, const Environment& environment, DepthwiseFn kernel)
      : Step(node, environment), kernel_(kernel) {}

  Status Reshape() override {
    if (args_.weights == nullptr) SKIFF_RETURN_IF_ERROR(Pack());
    SKIFF_RETURN_IF_ERROR(DescribePicture(node_, &args_));
    const auto& attrs = node_.As<Conv2dAttrs>();
    const size_t outputs[2] = {args_.output_height, args_.output_width};
    for (int axis = 0; axis < 2; ++axis) {
      dilations_[axis] = static_cast<size_t>(attrs.dilations[axis]);
      phases_[axis] = std::min(dilations_[axis], outputs[axis]);
    }
    pictures_ = static_cast<size_t>(node_.in(0).shape[0]);
    bands_ = DivideUp(DivideUp(args_.output_height, dilations_[0]), kBandRows);
    leads_ = AreSideBySide(attrs);
    work_ = leads_ ? &kWork : nullptr;
    return OkStatus();
  }

  Status Bind(void*) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d(environment_.pool, &RunBand, this,
                               pictures_ * phases_[0] * phases_[1] * bands_, /*flags=*/0);
    return OkStatus();
  }

 private:
  static void RunBand(void* step, size_t index) {
    const auto& self = *static_cast<const DepthwiseStep*>(step);
    const size_t first = index % self.bands_ * kBandRows;
    DepthwiseArgs args = self.args_;
    const size_t phase = index / self.bands_ % (self.phases_[0] * self.phases_[1]);
    const size_t picture = index / self.bands_ / (self.phases_[0] * self.phases_[1]);
    MoveToPicture(picture, &args);
    TakePhase({phase / self.phases_[1], phase % self.phases_[1]}, self.dilations_, &args);
    const size_t end = std::min(first + kBandRows, args.output_height);
    if (first >= end) return;
    self.kernel_(args, first, end);
    self.FollowUp((picture * args.output_height + first) * args.output_width,
                  (end - first) * args.output_width);
  }

  static LineWindows WindowsOf(const Step& step) {
    const auto& self = static_cast<const DepthwiseStep&>(step);
    return {.stride = static_cast<size_t>(self.node_.As<Conv2dAttrs>().strides[0]),
            .reach = static_cast<size_t>(self.node_.in(1).shape[1]),
            .pad = static_cast<size_t>(self.args_.top),
            .at_once = kStripRows};
  }
  static void RunLines(const Step& step, const Lines& x, const Lines& y, const LineRange& lines, void*) {
    const auto& self = static_cast<const DepthwiseStep&>(step);
    RunWindowLines(self.kernel_, self.args_, static_cast<size_t>(self.node_.As<Conv2dAttrs>().strides[0]), x,
                   y, lines);
  }
  static constexpr PartialWork kWork = {.windows = &WindowsOf, .run_lines = &RunLines};

  /// As DepthwiseArgs::weights says.
  Status Pack() {
    const TensorView& w = node_.in(1);  // [channels, size, size, channels of a group]
    const auto channels = static_cast<size_t>(w.shape[0]);
    const auto size = static_cast<size_t>(w.shape[1]);
    const size_t lanes = environment_.kernels->depthwise_channels;
    const size_t vectors = DivideUp(channels, lanes);
    const auto group = static_cast<size_t>(w.shape[3]);
    const bool has_bias = node_.Has(2);
    args_.group = group;
    PackingKey key;
    key.kind = PackingKind::kDepthwise;
    key.dtype = w.dtype;
    key.has_bias = has_bias;
    key.weights = node_.input(1).hash;
    if (has_bias) key.bias = node_.input(2).hash;
    key.parameters[0] = channels;
    key.parameters[1] = size;
    key.parameters[2] = lanes;
    key.parameters[3] = group;
    key.packed_bytes = vectors * (1 + group * size * size) * lanes * sizeof(float);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      auto* to = static_cast<float*>(blob);
      const auto* taps = w.as<const float>();
      const float* const bias = has_bias ? node_.in(2).as<const float>() : nullptr;
      for (size_t vector = 0; vector < vectors; ++vector) {
        const size_t first = std::min(vector * lanes, channels - lanes);
        for (size_t lane = 0; lane < lanes; ++lane) *to++ = bias == nullptr ? 0.0f : bias[first + lane];
        for (size_t turn = 0; turn < group; ++turn) {
          for (size_t tap = 0; tap < size * size; ++tap) {
            const size_t place = tap % size * size + tap / size;
            for (size_t channel = first; channel < first + lanes; ++channel)
              *to++ = taps[(channel * size * size + place) * group + ((channel % group) ^ turn)];
          }
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
  size_t pictures_ = 0;
  size_t dilations_[2] = {1, 1};
  size_t phases_[2] = {1, 1};  ///< As many as have outputs.
  size_t bands_ = 0;           ///< Of a phase.
};

/// As many outputs as inputs of each group, more than one group.
bool HasSquareWindows(const NodeView& node, const Kernels& kernels) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const bool as_many = attrs.groups > 1 && w[0] == node.in(0).shape[3] && attrs.groups * w[3] == w[0];
  const bool square = w[1] == w[2] && attrs.strides[0] == attrs.strides[1];
  return as_many && square && w[0] >= static_cast<int64_t>(kernels.depthwise_channels) && w[1] >= 3 &&
         w[1] <= 7 && w[1] % 2 == 1 && attrs.strides[0] <= 2;
}

}  // namespace

bool IsSquareDepthwise(const NodeView& node, const Kernels& kernels) {
  return HasSquareWindows(node, kernels) && AreSideBySide(node.As<Conv2dAttrs>()) && node.in(1).shape[3] == 1;
}

DepthwiseFn FindDepthwise(const NodeView& node, const Kernels& kernels) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  if (node.in(0).dtype != DType::kF32 || !HasSquareWindows(node, kernels)) return nullptr;
  if (!AreSideBySide(attrs) && attrs.strides[0] > 1) return nullptr;
  if (w[3] == 1) return kernels.depthwise[(w[1] - 3) / 2][attrs.strides[0] - 1];
  // Larger groups fill a vector as products do.
  const bool small = w[3] < static_cast<int64_t>(kernels.depthwise_channels) && (w[3] & (w[3] - 1)) == 0;
  return small && w[1] == 3 ? kernels.grouped[attrs.strides[0] - 1] : nullptr;
}

Result<StepPointer> LowerDepthwise(const NodeView& node, const Environment& environment, DepthwiseFn kernel) {
  return MakeStep<DepthwiseStep>(node, environment, kernel);
}

}  // namespace skiff::xnnpack
