// Convolution by the kernel of dense layers: along a line of the output, the windows are rows of inputs that
// lie at equal distances. Pads are made in memory, for some lines at a time; no table of pointers depends on
// the picture's size.
#include <algorithm>
#include <cstring>

#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {
namespace {

/// Rows of the picture that meet all weights while they are in the second-level cache; fewer where that cache
/// holds all weights, so that a band is still in the first one when it has been made.
constexpr size_t kBandBytes = 512 * 1024;
constexpr size_t kSmallBandBytes = 32 * 1024;
constexpr size_t kSmallWeightBytes = 128 * 1024;

class DenseConvolutionStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& w = node_.in(1);
    const TensorView& y = node_.out(0);
    for (int axis = 0; axis < 2; ++axis) {
      uint32_t begin = 0;
      uint32_t end = 0;  // Windows say how far they reach.
      if (!FitPads(attrs.auto_pad, attrs.pads, axis, x.shape[1 + axis], y.shape[1 + axis], w.shape[1 + axis],
                   attrs.strides[axis], attrs.dilations[axis], &begin, &end)) {
        return Refuse();
      }
      pads_[axis] = begin;
      extents_[axis] = static_cast<size_t>(x.shape[1 + axis]);
      outputs_[axis] = static_cast<size_t>(y.shape[1 + axis]);
      strides_[axis] = static_cast<size_t>(attrs.strides[axis]);
      reach_[axis] = static_cast<size_t>((w.shape[1 + axis] - 1) * attrs.dilations[axis] + 1);
    }
    pictures_ = static_cast<size_t>(y.shape[0]);
    channels_ = static_cast<size_t>(x.shape[3]);
    groups_ = static_cast<size_t>(attrs.groups);
    group_channels_ = channels_ / groups_;
    x_stride_ = RowsOf(x).stride;
    copies_ = !Inside(0) || !Inside(1);
    band_width_ = copies_ ? Reach(1, outputs_[1]) : extents_[1];

    const size_t pixel = copies_ ? channels_ : x_stride_;
    const bool side_by_side = attrs.dilations[1] == 1 && pixel == group_channels_;
    args_.run = (side_by_side ? static_cast<size_t>(w.shape[2]) : 1) * group_channels_;
    args_.runs[0] = static_cast<size_t>(w.shape[1]);
    args_.runs[1] = side_by_side ? 1 : static_cast<size_t>(w.shape[2]);
    args_.run_strides[0] = static_cast<size_t>(attrs.dilations[0]) * band_width_ * pixel;
    args_.run_strides[1] = static_cast<size_t>(attrs.dilations[1]) * pixel;
    args_.x_stride = strides_[1] * pixel;
    args_.line_rows = outputs_[1];
    args_.line_stride = strides_[0] * band_width_ * pixel;
    args_.y_stride = RowsOf(y).stride;
    args_.outputs = static_cast<size_t>(w.shape[0]) / groups_;
    kernels_ = &KernelsForOutputs(*environment_.kernels, args_.outputs);
    args_.min = attrs.min;
    args_.max = attrs.max;
    DivideWork();
    return PackDense(node_, environment_, *kernels_, /*transposed=*/false, groups_, &args_);
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    workspace_ = static_cast<float*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t band, size_t part) {
          static_cast<const DenseConvolutionStep*>(step)->RunPart(thread, band, part);
        },
        this, pictures_ * picture_bands_, parts_, /*flags=*/0);
    return OkStatus();
  }

 private:
  /// Pixels that `windows` windows reach over.
  size_t Reach(int axis, size_t windows) const { return (windows - 1) * strides_[axis] + reach_[axis]; }
  bool Inside(int axis) const { return pads_[axis] == 0 && Reach(axis, outputs_[axis]) <= extents_[axis]; }

  /// Into bands of the output's lines; where these are too few for the threads, also into parts of the
  /// panels, each of which makes its band for itself.
  void DivideWork() {
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    const size_t tasks = threads == 1 ? 1 : kTasksOfThread * threads;
    group_panels_ = DensePanelCount(args_, *kernels_);
    const size_t panels = groups_ * group_panels_;
    const size_t line_bytes = strides_[0] * band_width_ * channels_ * sizeof(float);
    const bool small = groups_ * args_.inputs() * args_.outputs * sizeof(float) <= kSmallWeightBytes;
    const size_t fit = std::max<size_t>((small ? kSmallBandBytes : kBandBytes) / line_bytes, 1);
    picture_bands_ = DivideUp(outputs_[0], fit);
    picture_bands_ = std::max(picture_bands_, std::min(outputs_[0], DivideUp(tasks, panels * pictures_)));
    band_lines_ = DivideUp(outputs_[0], picture_bands_);
    picture_bands_ = DivideUp(outputs_[0], band_lines_);
    part_panels_ = DivideUp(panels, std::min(panels, DivideUp(tasks, pictures_ * picture_bands_)));
    parts_ = DivideUp(panels, part_panels_);
    at_once_ = DensePanelsAtOnce(args_, *kernels_, /*parts=*/1);
    group_elements_ = DenseGroupElements(args_, *kernels_);
    band_elements_ = copies_ ? Reach(0, band_lines_) * band_width_ * channels_ : 0;
    workspace_bytes_ = threads * band_elements_ * sizeof(float);
  }

  void RunPart(size_t thread, size_t band, size_t part) const {
    const size_t picture = band / picture_bands_;
    const size_t first = band % picture_bands_ * band_lines_;
    const size_t end = std::min(first + band_lines_, outputs_[0]);
    const float* x = x_ + picture * extents_[0] * extents_[1] * x_stride_;
    if (copies_) {
      float* const made = workspace_ + thread * band_elements_;
      MakeBand(x, static_cast<long>(first * strides_[0]) - static_cast<long>(pads_[0]), Reach(0, end - first),
               made);
      x = made;
    } else {
      x += first * args_.line_stride;
    }
    float* const y = args_.y + (picture * outputs_[0] + first) * outputs_[1] * args_.y_stride;
    const size_t end_panel = std::min((part + 1) * part_panels_, groups_ * group_panels_);
    for (size_t panel = part * part_panels_; panel < end_panel;) {
      const size_t group = panel / group_panels_;
      const size_t in_group = panel % group_panels_;
      const size_t panels = std::min({at_once_, group_panels_ - in_group, end_panel - panel});
      DenseArgs args = args_;
      args.x = x + group * group_channels_;
      args.y = y + group * args.outputs;
      args.weights += group * group_elements_;
      kernels_->dense(args, 0, (end - first) * outputs_[1], in_group, in_group + panels);
      panel += panels;
    }
  }

  /// Rows of the picture from `row` on, with the pads around them.
  void MakeBand(const float* x, long row, size_t rows, float* to) const {
    const size_t left = std::min(pads_[1], band_width_);
    const size_t inside = std::min(extents_[1], band_width_ - left);
    const size_t right = band_width_ - left - inside;
    for (size_t i = 0; i < rows; ++i, ++row, to += band_width_ * channels_) {
      if (row < 0 || row >= static_cast<long>(extents_[0])) {
        std::fill_n(to, band_width_ * channels_, 0.0f);
        continue;
      }
      const float* const from = x + static_cast<size_t>(row) * extents_[1] * x_stride_;
      std::fill_n(to, left * channels_, 0.0f);
      CopyPixels(from, inside, to + left * channels_);
      std::fill_n(to + (left + inside) * channels_, right * channels_, 0.0f);
    }
  }

  void CopyPixels(const float* from, size_t pixels, float* to) const {
    if (x_stride_ == channels_) {
      std::memcpy(to, from, pixels * channels_ * sizeof(float));
      return;
    }
    for (size_t i = 0; i < pixels; ++i)
      std::memcpy(to + i * channels_, from + i * x_stride_, channels_ * sizeof(float));
  }

  const Kernels* kernels_ = nullptr;
  const float* x_ = nullptr;
  float* workspace_ = nullptr;
  DenseArgs args_;
  size_t pictures_ = 0;
  size_t channels_ = 0;
  size_t groups_ = 0;
  size_t group_channels_ = 0;
  size_t x_stride_ = 0;
  // Of both axes.
  size_t extents_[2] = {};
  size_t outputs_[2] = {};
  size_t strides_[2] = {};
  size_t pads_[2] = {};
  size_t reach_[2] = {};  ///< Pixels from a window's first to its last.
  bool copies_ = false;   ///< A window reaches out of the picture.
  size_t band_width_ = 0;
  size_t band_lines_ = 0;  ///< Of the output.
  size_t picture_bands_ = 0;
  size_t band_elements_ = 0;
  size_t group_panels_ = 0;
  size_t group_elements_ = 0;  ///< Of packed weights.
  size_t parts_ = 0;
  size_t part_panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
};

}  // namespace

bool RunsDenseConvolution(const NodeView& node, const Environment& environment) {
  // Windows of one channel are for XNNPACK's depthwise kernels, which also take several outputs of each.
  return RunsDense(node, environment) && (node.As<Conv2dAttrs>().groups == 1 || node.in(1).shape[3] > 1);
}

/// A window of one pixel at a time needs no rows of a picture.
Result<StepPointer> LowerDenseConvolution(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  bool pointwise =
      attrs.groups == 1 && w[1] == 1 && w[2] == 1 && attrs.strides[0] == 1 && attrs.strides[1] == 1;
  if (attrs.auto_pad == AutoPad::kExplicit)
    for (const int64_t pad : attrs.pads) pointwise = pointwise && pad == 0;
  if (pointwise) return LowerDense(node, environment, {attrs.min, attrs.max, /*transposed=*/false});
  return MakeStep<DenseConvolutionStep>(node, environment);
}

}  // namespace skiff::xnnpack
