// Max and average pools on kernels of our own. f16 is computed in f32, in the workspace.
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/pool.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

class OwnPoolStep final : public Step {
 public:
  OwnPoolStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), half_(IsF16(node.in(0).dtype)) {}

  Status Reshape() override {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    PoolGeometry g;
    if (!DescribePool(attrs, x, y, &g)) return Refuse();
    if (IsAverage() && attrs.count_include_pad && ReachesBeyondPads(attrs, x, g)) return Refuse();
    args_.pads_count = attrs.count_include_pad;
    args_.channels = g.channels;
    args_.height = static_cast<size_t>(x.shape[1]);
    args_.width = static_cast<size_t>(x.shape[2]);
    args_.output_height = static_cast<size_t>(y.shape[1]);
    args_.output_width = static_cast<size_t>(y.shape[2]);
    args_.x_stride = half_ ? g.channels : g.input_stride;
    args_.y_stride = half_ ? g.channels : g.output_stride;
    args_.top = static_cast<long>(g.pads[0]);
    args_.left = static_cast<long>(g.pads[3]);
    args_.SetDenseLines();
    for (int axis = 0; axis < 2; ++axis) {
      args_.kernel[axis] = static_cast<size_t>(attrs.kernel[axis]);
      args_.strides[axis] = static_cast<size_t>(attrs.strides[axis]);
      args_.dilations[axis] = static_cast<size_t>(attrs.dilations[axis]);
    }
    pictures_ = static_cast<size_t>(x.shape[0]);
    kernel_ = FindKernel();
    work_ = !half_ && kernel_ != environment_.kernels->pools.any[IsAverage() ? 1 : 0] ? &kWork : nullptr;
    workspace_bytes_ =
        half_ ? static_cast<size_t>(x.shape.elements() + y.shape.elements()) * sizeof(float) : 0;
    return OkStatus();
  }

  Status Bind(void* workspace) override {
    wide_x_ = static_cast<float*>(workspace);
    args_.x = half_ ? wide_x_ : node_.in(0).as<const float>();
    args_.y = half_ ? wide_x_ + node_.in(0).shape.elements() : node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    const auto rows = [this](auto compute, const TensorView& of) {
      pthreadpool_parallelize_1d_tile_1d(environment_.pool, compute, this, RowsOf(of).count, /*tile=*/256,
                                         /*flags=*/0);
    };
    if (half_) rows(&WidenRows, node_.in(0));
    // A line of the output is too little for a thread.
    constexpr size_t kLines = 4;
    pthreadpool_parallelize_2d_tile_1d(
        environment_.pool,
        [](void* step, size_t picture, size_t line, size_t lines) {
          const auto& self = *static_cast<const OwnPoolStep*>(step);
          PoolArgs args = self.args_;
          MoveToPicture(picture, &args);
          self.kernel_(args, line, line + lines);
        },
        this, pictures_, args_.output_height, kLines, /*flags=*/0);
    if (half_) rows(&NarrowRows, node_.out(0));
    return OkStatus();
  }

 private:
  static LineWindows WindowsOf(const Step& step) {
    const PoolArgs& args = static_cast<const OwnPoolStep&>(step).args_;
    return {.stride = args.strides[0], .reach = args.kernel[0], .pad = static_cast<size_t>(args.top)};
  }
  static void RunLines(const Step& step, const Lines& x, const Lines& y, const LineRange& lines, void*) {
    const auto& self = static_cast<const OwnPoolStep&>(step);
    RunWindowLines(self.kernel_, self.args_, self.args_.strides[0], x, y, lines);
  }
  /// Of kernels that know Lines.
  static constexpr PartialWork kWork = {.windows = &WindowsOf, .run_lines = &RunLines};

  bool IsAverage() const { return node_.op() == OpCode::kAveragePool2d; }

  PoolFn FindKernel() const {
    const PoolKernels& kernels = environment_.kernels->pools;
    const auto equal = [](const size_t(&pair)[2], size_t low, size_t high) {
      return pair[0] == pair[1] && pair[0] >= low && pair[0] <= high;
    };
    const bool small = !IsAverage() && equal(args_.kernel, 2, 3) && equal(args_.strides, 1, 2) &&
                       equal(args_.dilations, 1, 1) && args_.channels >= kernels.channels;
    const PoolFn tiles = small ? kernels.largest[args_.kernel[0] - 2][args_.strides[0] - 1] : nullptr;
    return tiles != nullptr ? tiles : kernels.any[IsAverage() ? 1 : 0];
  }

  static void WidenRows(void* step, size_t first, size_t count) {
    const auto& self = *static_cast<const OwnPoolStep*>(step);
    const Rows rows = RowsOf(self.node_.in(0));
    const auto* const x = self.node_.in(0).as<const uint16_t>();
    for (size_t row = first; row < first + count; ++row)
      self.environment_.kernels->widen(rows.length, x + row * rows.stride, self.wide_x_ + row * rows.length);
  }
  static void NarrowRows(void* step, size_t first, size_t count) {
    const auto& self = *static_cast<const OwnPoolStep*>(step);
    const Rows rows = RowsOf(self.node_.out(0));
    auto* const y = self.node_.out(0).as<uint16_t>();
    for (size_t row = first; row < first + count; ++row)
      self.environment_.kernels->narrow(rows.length, self.args_.y + row * rows.length, y + row * rows.stride);
  }

  const bool half_;
  PoolFn kernel_ = nullptr;
  PoolArgs args_;
  size_t pictures_ = 0;
  float* wide_x_ = nullptr;  ///< Of f16.
};

}  // namespace

Result<StepPointer> LowerOwnPool(const NodeView& node, const Environment& environment) {
  return MakeStep<OwnPoolStep>(node, environment);
}

}  // namespace skiff::xnnpack
