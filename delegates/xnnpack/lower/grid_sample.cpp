// GridSample of f32 between two pixels of each axis, or at the nearest ones: the places are the reference
// kernel's, in its precision.
#include <algorithm>
#include <cmath>
#include <limits>

#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "eager/kernels/grid_axis.h"

namespace skiff::xnnpack {
namespace {

/// Pixels of the output that a thread makes at a time.
constexpr size_t kPiece = 256;

class GridSampleStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (!node_.in(1).dense()) return Refuse();
    const auto& attrs = node_.As<GridSampleAttrs>();
    for (int axis = 0; axis < 2; ++axis) {
      axes_[axis] = {x.shape[1 + axis], attrs.mode, attrs.padding, attrs.align_corners};
      last_[axis] = static_cast<double>(axes_[axis].extent - 1);
    }
    is_linear_ = attrs.mode == GridSampleMode::kLinear;
    channels_ = static_cast<size_t>(x.shape[3]);
    x_pixel_ = RowsOf(x).stride;
    x_line_ = static_cast<size_t>(x.shape[2]) * x_pixel_;
    y_pixel_ = RowsOf(y).stride;
    of_picture_ = static_cast<size_t>(y.shape.ElementsBetween(1, 3));
    pixels_ = RowsOf(y).count;
    outside_ = is_linear_ ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t first, size_t count) {
          static_cast<const GridSampleStep*>(self)->MakePixels(first, first + count);
        },
        this, pixels_, kPiece, /*flags=*/0);
    return OkStatus();
  }

 private:
  void MakePixels(size_t first, size_t end) const {
    const float* grid = node_.in(1).as<const float>() + 2 * first;
    float* y = node_.out(0).as<float>() + first * y_pixel_;
    const size_t picture = static_cast<size_t>(axes_[0].extent) * x_line_;
    const float* x = node_.in(0).as<const float>() + first / of_picture_ * picture;
    size_t left = of_picture_ - first % of_picture_;
    for (; first < end; ++first, grid += 2, y += y_pixel_) {
      MakePixel(x, grid, y);
      if (--left > 0) continue;
      left = of_picture_;
      x += picture;
    }
  }

  void MakePixel(const float* x, const float* grid, float* y) const {
    const double row = axes_[0].Denormalize(static_cast<double>(grid[1]));
    const double column = axes_[1].Denormalize(static_cast<double>(grid[0]));
    if (is_linear_ && row >= 0 && row < last_[0] && column >= 0 && column < last_[1])
      MixInside(x, row, column, y);
    else
      MixAnywhere(x, grid, y);
  }

  /// All four neighbours exist: what is computed is what MixAnywhere() would.
  void MixInside(const float* x, double row, double column, float* y) const {
    const auto first_row = static_cast<int64_t>(row);
    const auto first_column = static_cast<int64_t>(column);
    const double down = row - static_cast<double>(first_row);
    const double right = column - static_cast<double>(first_column);
    x += static_cast<size_t>(first_row) * x_line_ + static_cast<size_t>(first_column) * x_pixel_;
    const float* const runs[] = {x, x + x_pixel_, x + x_line_, x + x_line_ + x_pixel_};
    const float weights[] = {static_cast<float>((1 - down) * (1 - right)),
                             static_cast<float>((1 - down) * right), static_cast<float>(down * (1 - right)),
                             static_cast<float>(down * right)};
    // A neighbour without weight must not turn an infinity into a NaN.
    if (down == 0 || right == 0) return MixWeighted(4, runs, weights, y);
    Mix(4, runs, weights, y);
  }
  void MixWeighted(size_t count, const float* const* runs, const float* weights, float* y) const {
    const float* some[kMostMixed];
    float their[kMostMixed];
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
      if (weights[i] == 0) continue;
      some[left] = runs[i];
      their[left++] = weights[i];
    }
    Mix(left, some, their, y);
  }
  void Mix(size_t count, const float* const* runs, const float* weights, float* y) const {
    if (channels_ > 1) return environment_.kernels->mix(channels_, count, runs, weights, y);
    float sum = 0;
    for (size_t i = 0; i < count; ++i) sum += *runs[i] * weights[i];
    *y = sum;
  }

  void MixAnywhere(const float* x, const float* grid, float* y) const {
    if (std::isnan(grid[0]) || std::isnan(grid[1])) {
      std::fill_n(y, channels_, outside_);
      return;
    }
    const eager::Taps rows = axes_[0].TapsOf(static_cast<double>(grid[1]));
    const eager::Taps columns = axes_[1].TapsOf(static_cast<double>(grid[0]));
    const float* runs[kMostMixed];
    float weights[kMostMixed];
    size_t count = 0;
    for (int row = 0; row < rows.count; ++row) {
      for (int column = 0; column < columns.count; ++column) {
        weights[count] = static_cast<float>(rows.weight[row] * columns.weight[column]);
        runs[count++] = x + static_cast<size_t>(rows.index[row]) * x_line_ +
                        static_cast<size_t>(columns.index[column]) * x_pixel_;
      }
    }
    MixWeighted(count, runs, weights, y);
  }

  eager::GridAxis axes_[2];
  double last_[2] = {};  ///< Pixel of each axis.
  bool is_linear_ = false;
  size_t channels_ = 0;
  size_t x_pixel_ = 0;  ///< Elements from pixel to pixel, and from line to line.
  size_t x_line_ = 0;
  size_t y_pixel_ = 0;
  size_t of_picture_ = 0;  ///< Pixels of the output.
  size_t pixels_ = 0;
  float outside_ = 0;  ///< Where a coordinate is no number.
};

}  // namespace

Result<StepPointer> LowerGridSample2d(const NodeView& node, const Environment& environment) {
  return MakeStep<GridSampleStep>(node, environment);
}

}  // namespace skiff::xnnpack
