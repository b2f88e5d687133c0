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

bool IsOfAny(DepthwiseFn kernel, const Kernels& kernels) {
  const auto& of_any = kernels.depthwise_of_any;
  return std::find(std::begin(of_any), std::end(of_any), kernel) != std::end(of_any);
}

/// Channels of the output for each of the input, where each of these is a group.
int64_t OutputsOfChannel(const NodeView& node) { return node.in(1).shape[0] / node.As<Conv2dAttrs>().groups; }

class DepthwiseStep final : public Step {
 public:
  DepthwiseStep(const NodeView& node, const Environment& environment, DepthwiseFn kernel)
      : Step(node, environment), kernel_(kernel), takes_any_(IsOfAny(kernel, *environment.kernels)) {}

  Status Reshape() override {
    if (args_.weights == nullptr) SKIFF_RETURN_IF_ERROR(Pack());
    SKIFF_RETURN_IF_ERROR(DescribePicture(node_, &args_));
    const auto& attrs = node_.As<Conv2dAttrs>();
    args_.channels = static_cast<size_t>(node_.out(0).shape[3]);
    share_ = takes_any_ ? static_cast<size_t>(OutputsOfChannel(node_)) : 1;
    const size_t outputs[2] = {args_.output_height, args_.output_width};
    for (int axis = 0; axis < 2; ++axis) {
      args_.kernel[axis] = static_cast<size_t>(node_.in(1).shape[1 + axis]);
      args_.strides[axis] = static_cast<size_t>(attrs.strides[axis]);
      args_.dilations[axis] = static_cast<size_t>(attrs.dilations[axis]);
      if (!takes_any_) phases_[axis] = std::min(args_.dilations[axis], outputs[axis]);
    }
    const bool is_column = takes_any_ && args_.width == 1 && outputs[1] == 1 && args_.kernel[1] == 1;
    if (is_column) LayColumn();
    pictures_ = static_cast<size_t>(node_.in(0).shape[0]);
    bands_ = DivideUp(takes_any_ ? args_.output_height : DivideUp(outputs[0], args_.dilations[0]), kBandRows);
    vectors_ = args_.channels / environment_.kernels->depthwise_channels;
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    const size_t parts =
        takes_any_ && threads > 1 ? DivideUp(kTasksOfThread * threads, pictures_ * bands_) : 1;
    part_vectors_ = DivideUp(vectors_, std::min(parts, vectors_));
    leads_ = (takes_any_ || AreSideBySide(attrs)) && part_vectors_ == vectors_;
    work_ = !is_column && (takes_any_ || AreSideBySide(attrs)) ? &kWork : nullptr;
    return OkStatus();
  }

  Status Bind(void*) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d(environment_.pool, &RunBand, this,
                               pictures_ * phases_[0] * phases_[1] * bands_ * parts(), /*flags=*/0);
    return OkStatus();
  }

 private:
  size_t parts() const { return DivideUp(vectors_, part_vectors_); }

  static void RunBand(void* step, size_t index) {
    const auto& self = *static_cast<const DepthwiseStep*>(step);
    DepthwiseArgs args = self.args_;
    self.TakePart(index % self.parts(), &args);
    index /= self.parts();
    const size_t first = index % self.bands_ * kBandRows;
    const size_t phase = index / self.bands_ % (self.phases_[0] * self.phases_[1]);
    const size_t picture = index / self.bands_ / (self.phases_[0] * self.phases_[1]);
    MoveToPicture(picture, &args);
    if (!self.takes_any_)
      TakePhase({phase / self.phases_[1], phase % self.phases_[1]}, args.dilations, &args);
    const size_t end = std::min(first + kBandRows, args.output_height);
    if (first >= end) return;
    self.kernel_(args, first, end);
    self.FollowUp((picture * args.output_height + first) * args.output_width,
                  (end - first) * args.output_width);
  }

  /// A picture of one column is one of one line, whose outputs are side by side.
  void LayColumn() {
    std::swap(args_.height, args_.width);
    std::swap(args_.output_height, args_.output_width);
    std::swap(args_.top, args_.left);
    for (auto* const pair : {&args_.kernel, &args_.strides, &args_.dilations})
      std::swap((*pair)[0], (*pair)[1]);
    args_.SetDenseLines();
  }

  /// Of the channels, whole vectors; the last part has what is left over, too.
  void TakePart(size_t part, DepthwiseArgs* args) const {
    if (part_vectors_ == vectors_) return;
    const size_t of_part = part_vectors_ * environment_.kernels->depthwise_channels;
    const size_t first = part * of_part;
    args->x += first / share_;
    args->y += first;
    args->channels = part + 1 == parts() ? args->channels - first : of_part;
    args->weights += part * part_vectors_ * vector_words();
  }

  static LineWindows WindowsOf(const Step& step) {
    const auto& self = static_cast<const DepthwiseStep&>(step);
    return {.stride = self.args_.strides[0],
            .reach = (self.args_.kernel[0] - 1) * self.args_.dilations[0] + 1,
            .pad = static_cast<size_t>(self.args_.top),
            .at_once = kStripRows};
  }
  static void RunLines(const Step& step, const Lines& x, const Lines& y, const LineRange& lines, void*) {
    const auto& self = static_cast<const DepthwiseStep&>(step);
    RunWindowLines(self.kernel_, self.args_, self.args_.strides[0], x, y, lines);
  }
  static constexpr PartialWork kWork = {.windows = &WindowsOf, .run_lines = &RunLines};

  /// As DepthwiseArgs::weights says.
  Status Pack() {
    const TensorView& w = node_.in(1);  // [channels, rows, columns, channels of a group]
    const auto channels = static_cast<size_t>(w.shape[0]);
    const auto rows = static_cast<size_t>(w.shape[1]);
    const auto columns = static_cast<size_t>(w.shape[2]);
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
    key.parameters[1] = rows;
    key.parameters[2] = lanes;
    key.parameters[3] = group;
    key.parameters[4] = columns;
    key.parameters[5] = takes_any_ ? 1 : 0;
    key.packed_bytes = vectors * (1 + group * rows * columns) * lanes * sizeof(float);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      auto* to = static_cast<float*>(blob);
      const auto* taps = w.as<const float>();
      const float* const bias = has_bias ? node_.in(2).as<const float>() : nullptr;
      for (size_t vector = 0; vector < vectors; ++vector) {
        const size_t first = std::min(vector * lanes, channels - lanes);
        for (size_t lane = 0; lane < lanes; ++lane) *to++ = bias == nullptr ? 0.0f : bias[first + lane];
        for (size_t turn = 0; turn < group; ++turn) {
          for (size_t tap = 0; tap < rows * columns; ++tap) {
            const size_t place = takes_any_ ? tap : tap % rows * columns + tap / rows;
            for (size_t channel = first; channel < first + lanes; ++channel)
              *to++ = taps[(channel * rows * columns + place) * group + ((channel % group) ^ turn)];
          }
        }
      }
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const float*>(packed);
    return OkStatus();
  }

  /// Of a vector of channels.
  size_t vector_words() const {
    return (1 + args_.group * args_.kernel[0] * args_.kernel[1]) * environment_.kernels->depthwise_channels;
  }

  const DepthwiseFn kernel_;
  const bool takes_any_;  ///< Windows, and all of a picture at once.
  DepthwiseArgs args_;
  size_t share_ = 1;  ///< Outputs of each input.
  size_t pictures_ = 0;
  size_t phases_[2] = {1, 1};  ///< As many as have outputs.
  size_t bands_ = 0;           ///< Of a phase.
  size_t vectors_ = 0;         ///< Of channels, full ones.
  size_t part_vectors_ = 0;    ///< That are computed together: all of them where there are bands enough.
};

/// As many outputs as inputs of each group, more than one group.
bool HasGroupsOfWindows(const NodeView& node, const Kernels& kernels) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const bool as_many = attrs.groups > 1 && w[0] == node.in(0).shape[3] && attrs.groups * w[3] == w[0];
  return as_many && w[0] >= static_cast<int64_t>(kernels.depthwise_channels);
}

/// Those that there are tiles for.
bool HasTiles(const NodeView& node) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const bool square = w[1] == w[2] && attrs.strides[0] == attrs.strides[1];
  return square && w[1] >= 3 && w[1] <= 7 && w[1] % 2 == 1 && attrs.strides[0] <= 2 &&
         (AreSideBySide(attrs) || attrs.strides[0] == 1);
}

/// The kernel of any windows, where each channel is a group.
DepthwiseFn FindDepthwiseOfAny(const NodeView& node, const Kernels& kernels) {
  const Shape& w = node.in(1).shape;
  const bool is_depthwise = w[3] == 1 && node.As<Conv2dAttrs>().groups == node.in(0).shape[3];
  if (!is_depthwise || w[0] < static_cast<int64_t>(kernels.depthwise_channels)) return nullptr;
  const int64_t outputs = OutputsOfChannel(node);
  if (outputs == 1 && w[1] * w[2] <= kFewTaps) return nullptr;
  for (size_t i = 0; i < kDepthwiseShares; ++i) {
    if (outputs == int64_t{1} << i) return kernels.depthwise_of_any[i];
  }
  return nullptr;
}

}  // namespace

bool IsDepthwise(const NodeView& node, const Kernels& kernels) {
  return HasGroupsOfWindows(node, kernels) && node.in(1).shape[3] == 1;
}

bool IsSquareDepthwise(const NodeView& node, const Kernels& kernels) {
  return IsDepthwise(node, kernels) && HasTiles(node) && AreSideBySide(node.As<Conv2dAttrs>());
}

DepthwiseFn FindDepthwise(const NodeView& node, const Kernels& kernels) {
  const size_t stride = static_cast<size_t>(node.As<Conv2dAttrs>().strides[0]);
  const Shape& w = node.in(1).shape;
  if (node.in(0).dtype != DType::kF32 || node.As<Conv2dAttrs>().groups == 1) return nullptr;
  if (!HasGroupsOfWindows(node, kernels) || !HasTiles(node)) return FindDepthwiseOfAny(node, kernels);
  if (w[3] == 1) return kernels.depthwise[(w[1] - 3) / 2][stride - 1];
  // Larger groups fill a vector as products do.
  const bool small = w[3] < static_cast<int64_t>(kernels.depthwise_channels) && (w[3] & (w[3] - 1)) == 0;
  return small && w[1] == 3 ? kernels.grouped[stride - 1] : nullptr;
}

Result<StepPointer> LowerDepthwise(const NodeView& node, const Environment& environment, DepthwiseFn kernel) {
  return MakeStep<DepthwiseStep>(node, environment, kernel);
}

}  // namespace skiff::xnnpack
