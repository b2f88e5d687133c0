// Convolution by the kernel of dense layers: along a line of the output, the windows are rows of inputs that
// lie at equal distances. Pads are made in memory, for some lines at a time; no table of pointers depends on
// the picture's size.
#include <algorithm>
#include <cstring>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/window_bands.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

class DenseConvolutionStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    xnnpack_.reset();
    const Status described = bands_.Describe(node_, /*always_copies=*/false, &args_);
    if (described.code() == StatusCode::kUnsupported) return ReshapeXnnpack();
    SKIFF_RETURN_IF_ERROR(described);
    const auto& attrs = node_.As<Conv2dAttrs>();
    kernels_ = &KernelsForOutputs(*environment_.kernels, args_.outputs);
    args_.min = attrs.min;
    args_.max = attrs.max;
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    group_panels_ = DensePanelCount(args_, *kernels_);
    bands_.Divide(threads, bands_.groups * group_panels_, sizeof(float),
                  bands_.groups * args_.inputs() * args_.outputs * sizeof(float));
    leads_ = bands_.parts == 1;
    work_ = leads_ ? &kWork : nullptr;
    at_once_ = DensePanelsAtOnce(args_, args_.inputs(), *kernels_, /*parts=*/1);
    group_elements_ = DenseGroupElements(args_, *kernels_);
    workspace_bytes_ = threads * bands_.band_elements * sizeof(float);
    return PackDense(node_, environment_, *kernels_, /*transposed=*/false, bands_.groups, &args_);
  }

  Status Bind(void* workspace) override {
    if (xnnpack_ != nullptr) return xnnpack_->Bind(workspace);
    x_ = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    workspace_ = static_cast<float*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    if (xnnpack_ != nullptr) return xnnpack_->Run();
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t band, size_t part) {
          static_cast<const DenseConvolutionStep*>(step)->RunPart(thread, band, part);
        },
        this, bands_.bands(), bands_.parts, /*flags=*/0);
    return OkStatus();
  }

 private:
  /// Windows that reach far over the pads meet a table of pointers there.
  Status ReshapeXnnpack() {
    leads_ = false;
    work_ = nullptr;
    SKIFF_ASSIGN_OR_RETURN(xnnpack_, LowerXnnpackConvolution(node_, environment_));
    SKIFF_RETURN_IF_ERROR(xnnpack_->Reshape());
    workspace_bytes_ = xnnpack_->workspace_bytes();
    return OkStatus();
  }

  static LineWindows WindowsOf(const Step& step) {
    const WindowBands& b = static_cast<const DenseConvolutionStep&>(step).bands_;
    return {.stride = b.strides[0],
            .reach = b.reach[0],
            .pad = b.pads[0],
            .scratch_bytes = b.band_elements * sizeof(float),
            .takes_few_lines = false};
  }
  static void RunLines(const Step& step, const Lines& x, const Lines& y, const LineRange& lines,
                       void* scratch) {
    const auto& self = static_cast<const DenseConvolutionStep&>(step);
    for (LineRange left = lines; !left.empty();) {
      const size_t count = std::min(y.Together(left), self.bands_.band_lines);
      self.RunBand(self.bands_.BandOf(left.first, count), /*part=*/0, x.at, y[left.first], y.pixel,
                   static_cast<float*>(scratch));
      left.first += count;
    }
  }
  static constexpr PartialWork kWork = {.windows = &WindowsOf, .run_lines = &RunLines};

  void RunPart(size_t thread, size_t band, size_t part) const {
    const WindowBands::Band at = bands_.BandAt(band);
    RunBand(at, part, x_ + at.pixel * bands_.x_stride, args_.y + at.output_pixel * args_.y_stride,
            args_.y_stride, workspace_ + thread * bands_.band_elements);
    FollowUp(at.output_pixel, at.output_pixels);
  }

  /// `x`: the picture. `made`: room for what is copied of it.
  void RunBand(const WindowBands::Band& at, size_t part, const float* x, float* y, size_t y_stride,
               float* made) const {
    const WindowBands& b = bands_;
    if (b.copies) {
      b.Make(at.line, at.lines, 0.0f, made,
             [&](size_t pixel, size_t count, float* to) { CopyPixels(x + pixel * b.x_stride, count, to); });
      x = made;
    } else {
      x += at.first_line * args_.line_stride;
    }
    b.ForPart(part, group_panels_, at_once_, [&](size_t group, size_t first_panel, size_t end_panel) {
      DenseArgs args = args_;
      args.x = x + group * b.group_channels;
      args.y = y + group * args.outputs;
      args.y_stride = y_stride;
      args.weights += group * group_elements_;
      kernels_->dense(args, 0, at.output_pixels, first_panel, end_panel);
    });
  }

  void CopyPixels(const float* from, size_t pixels, float* to) const {
    const size_t channels = bands_.channels;
    if (bands_.x_stride == channels) {
      std::memcpy(to, from, pixels * channels * sizeof(float));
      return;
    }
    for (size_t i = 0; i < pixels; ++i)
      std::memcpy(to + i * channels, from + i * bands_.x_stride, channels * sizeof(float));
  }

  StepPointer xnnpack_;  ///< What runs this shape; null: this step.
  const Kernels* kernels_ = nullptr;
  const float* x_ = nullptr;
  float* workspace_ = nullptr;
  DenseArgs args_;
  WindowBands bands_;
  size_t group_panels_ = 0;
  size_t group_elements_ = 0;  ///< Of packed weights.
  size_t at_once_ = 0;         ///< Panels.
};

}  // namespace

bool RunsDenseConvolution(const NodeView& node, const Environment& environment) {
  // Windows of one channel are for XNNPACK's depthwise kernels, which also take several outputs of each.
  return RunsDense(node, environment) && (node.As<Conv2dAttrs>().groups == 1 || node.in(1).shape[3] > 1);
}

/// A window of one pixel at a time needs no rows of a picture.
Result<StepPointer> LowerDenseConvolution(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<Conv2dAttrs>();
  if (attrs.groups == 1 && IsPointwise(attrs, node.in(1).shape))
    return LowerDense(node, environment, {attrs.min, attrs.max, /*transposed=*/false});
  return MakeStep<DenseConvolutionStep>(node, environment);
}

}  // namespace skiff::xnnpack
