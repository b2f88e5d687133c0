// Rows times constant weights with kernels of our own: fully connected layers, matrix products, 1 x 1
// convolutions.
#include <algorithm>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/strassen.h"

namespace skiff::xnnpack {
namespace {

class DenseStep final : public Step {
 public:
  DenseStep(const NodeView& node, const Environment& environment, const DenseLayer& layer)
      : Step(node, environment), layer_(layer) {}

  Status Reshape() override {
    workspace_bytes_ = 0;
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    args_.run = from.length;
    args_.outputs = static_cast<size_t>(node_.in(1).shape.elements()) / from.length;
    args_.x_stride = from.stride;
    args_.y_stride = to.stride;
    // A product with a vector drops the axis of its one output.
    if (to.length != args_.outputs) {
      if (!node_.out(0).dense()) return Refuse();
      args_.y_stride = args_.outputs;
    }
    args_.min = layer_.min;
    args_.max = layer_.max;
    kernels_ = &KernelsForOutputs(*environment_.kernels, args_.outputs);
    rows_ = from.count;
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    block_rows_ = DenseBlockRows(args_, rows_, threads);
    blocks_ = DivideUp(rows_, block_rows_);
    const size_t parts = threads == 1 ? 1 : kTasksOfThread * threads / blocks_;
    leads_ = parts <= 1 && to.length == args_.outputs;
    panels_ = DensePanelCount(args_, *kernels_);
    // Weights that one row uses need not stay in a cache, and come faster from several panels at a time.
    at_once_ = rows_ == 1 ? panels_ / std::clamp<size_t>(parts, 1, panels_)
                          : DensePanelsAtOnce(args_, args_.inputs(), *kernels_, parts);
    work_ = to.length == args_.outputs ? &kWork : nullptr;
    SKIFF_RETURN_IF_ERROR(PackDense(node_, environment_, *kernels_, layer_.transposed, /*groups=*/1, &args_));
    by_strassen_ = !environment_.exact && StrassenProduct::IsFaster(args_, rows_, *kernels_);
    return by_strassen_ ? ReshapeStrassen() : OkStatus();
  }

  Status Bind(void* workspace) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    if (by_strassen_) strassen_.Bind(args_, workspace);
    return OkStatus();
  }

  Status Run() override {
    if (by_strassen_) {
      strassen_.Run(*this, environment_.pool);
      return OkStatus();
    }
    if (has_follower()) {
      pthreadpool_parallelize_1d(
          environment_.pool,
          [](void* step, size_t block) { static_cast<const DenseStep*>(step)->RunBlock(block); }, this,
          blocks_, /*flags=*/0);
      return OkStatus();
    }
    pthreadpool_parallelize_2d(
        environment_.pool,
        [](void* step, size_t block, size_t part) {
          static_cast<const DenseStep*>(step)->RunPart(block,
                                                       part * static_cast<const DenseStep*>(step)->at_once_);
        },
        this, blocks_, DivideUp(panels_, at_once_), /*flags=*/0);
    return OkStatus();
  }

 private:
  static LineWindows WindowsOf(const Step&) { return {}; }
  static void RunLines(const Step& step, const Lines& x, const Lines& y, const LineRange& lines, void*) {
    const auto& self = static_cast<const DenseStep&>(step);
    DenseArgs args = self.args_;
    args.x_stride = x.pixel;
    args.y_stride = y.pixel;
    for (LineRange left = lines; !left.empty();) {
      const size_t count = std::min(x.Together(left), y.Together(left));
      args.x = x[left.first];
      args.y = y[left.first];
      const size_t rows = count * y.width();
      const size_t block_rows = DenseBlockRows(args, rows, /*threads=*/1);
      for (size_t row = 0; row < rows; row += block_rows)
        self.RunRows(args, row, std::min(row + block_rows, rows));
      left.first += count;
    }
  }
  static constexpr PartialWork kWork = {.windows = &WindowsOf, .run_lines = &RunLines};

  /// Lines of a strip would be too few rows for the sums of weights.
  Status ReshapeStrassen() {
    SKIFF_RETURN_IF_ERROR(strassen_.Prepare(args_, rows_, *kernels_, environment_.pool));
    workspace_bytes_ = strassen_.workspace_bytes();
    leads_ = strassen_.leads() && work_ != nullptr;
    work_ = nullptr;
    return OkStatus();
  }

  size_t EndOfBlock(size_t block) const { return std::min((block + 1) * block_rows_, rows_); }
  void RunPanels(const DenseArgs& args, size_t first_row, size_t end_row, size_t first_panel) const {
    kernels_->dense(args, first_row, end_row, first_panel, std::min(first_panel + at_once_, panels_));
  }
  void RunRows(const DenseArgs& args, size_t first_row, size_t end_row) const {
    for (size_t panel = 0; panel < panels_; panel += at_once_) RunPanels(args, first_row, end_row, panel);
  }
  void RunPart(size_t block, size_t first_panel) const {
    RunPanels(args_, block * block_rows_, EndOfBlock(block), first_panel);
  }
  void RunBlock(size_t block) const {
    RunRows(args_, block * block_rows_, EndOfBlock(block));
    FollowUp(block * block_rows_, EndOfBlock(block) - block * block_rows_);
  }

  const DenseLayer layer_;
  const Kernels* kernels_ = nullptr;
  DenseArgs args_;
  size_t rows_ = 0;
  size_t block_rows_ = 0;
  size_t blocks_ = 0;
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  bool by_strassen_ = false;
  StrassenProduct strassen_;
};

}  // namespace

bool RunsDense(const NodeView& node, const Environment& environment) {
  return environment.kernels->dense != nullptr && node.in(0).dtype == DType::kF32;
}

Result<StepPointer> LowerDense(const NodeView& node, const Environment& environment,
                               const DenseLayer& layer) {
  return MakeStep<DenseStep>(node, environment, layer);
}

}  // namespace skiff::xnnpack
