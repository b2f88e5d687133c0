// Resizing that mixes neighbours with weights which XNNPACK's bilinear operator does not have: cubic ones,
// and linear ones without what lies outside. Rows are mixed first, into one of a thread's own, then its
// pixels.
#include "core/align.h"
#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "eager/kernels/resize_axis.h"

namespace skiff::xnnpack {
namespace {

/// eager::Taps that have weights: a neighbour without must not turn an infinity into a NaN.
struct Neighbours {
  size_t count = 0;
  int64_t index[kMostMixed] = {};
  float weight[kMostMixed] = {};
};

class MixingResizeStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (!IsPicture(x.shape, y.shape)) return Refuse();
    for (int axis = 0; axis < 2; ++axis) {
      axes_[axis] = {.input = x.shape[1 + axis],
                     .output = y.shape[1 + axis],
                     .scale = node_.Has(2) ? static_cast<double>(node_.in(2).as<const float>()[axis]) : 0.0};
    }
    pictures_ = static_cast<size_t>(x.shape[0]);
    channels_ = static_cast<size_t>(x.shape[3]);
    x_pixel_ = RowsOf(x).stride;
    y_pixel_ = RowsOf(y).stride;
    SKIFF_RETURN_IF_ERROR(columns_.Allocate(static_cast<uint64_t>(axes_[1].output)));
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i] = NeighboursOf(axes_[1], i);
    row_bytes_ = AlignUp(static_cast<size_t>(axes_[1].input) * x_pixel_ * sizeof(float));
    workspace_bytes_ = pthreadpool_get_threads_count(environment_.pool) * row_bytes_;
    return OkStatus();
  }

  Status Bind(void* workspace) override {
    workspace_ = static_cast<char*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_with_thread(
        environment_.pool,
        [](void* self, size_t thread, size_t row) {
          static_cast<const MixingResizeStep*>(self)->MakeRow(thread, row);
        },
        this, pictures_ * static_cast<size_t>(axes_[0].output), /*flags=*/0);
    return OkStatus();
  }

 private:
  Neighbours NeighboursOf(const eager::ResizeAxis& axis, size_t output) const {
    const eager::Taps taps = eager::TapsOf(axis, node_.As<ResizeAttrs>(), static_cast<int64_t>(output));
    Neighbours found;
    for (int i = 0; i < taps.count; ++i) {
      if (taps.weight[i] == 0) continue;
      found.index[found.count] = taps.index[i];
      found.weight[found.count++] = static_cast<float>(taps.weight[i]);
    }
    return found;
  }

  /// Neighbours among runs of n elements that begin `distance` apart.
  void Mix(const Neighbours& of, const float* x, size_t distance, size_t n, float* y) const {
    const float* runs[kMostMixed];
    for (size_t i = 0; i < of.count; ++i) runs[i] = x + static_cast<size_t>(of.index[i]) * distance;
    environment_.kernels->mix(n, of.count, runs, of.weight, y);
  }

  void MakeRow(size_t thread, size_t index) const {
    const auto height = static_cast<size_t>(axes_[0].input);
    const auto rows = static_cast<size_t>(axes_[0].output);
    const size_t line = static_cast<size_t>(axes_[1].input) * x_pixel_;
    const float* const x = node_.in(0).as<const float>() + index / rows * height * line;
    float* y = node_.out(0).as<float>() + index * columns_.size() * y_pixel_;
    auto* const mixed = reinterpret_cast<float*>(workspace_ + thread * row_bytes_);
    // Without the gap behind the last pixel.
    Mix(NeighboursOf(axes_[0], index % rows), x, line, line - (x_pixel_ - channels_), mixed);
    for (const Neighbours& column : columns_) {
      Mix(column, mixed, x_pixel_, channels_, y);
      y += y_pixel_;
    }
  }

  eager::ResizeAxis axes_[2];
  FixedArray<Neighbours> columns_;
  size_t pictures_ = 0;
  size_t channels_ = 0;
  size_t x_pixel_ = 0;  ///< Elements from pixel to pixel.
  size_t y_pixel_ = 0;
  size_t row_bytes_ = 0;
  char* workspace_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerMixingResize(const NodeView& node, const Environment& environment) {
  return MakeStep<MixingResizeStep>(node, environment);
}

}  // namespace skiff::xnnpack
