// RoiAlign of f32 by means: the samples of a cell read a few rows and columns of the picture, whose weights
// are products. The places are the reference kernel's, in its precision.
#include <algorithm>

#include "core/align.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "eager/kernels/region_axis.h"

namespace skiff::xnnpack {
namespace {

/// A row or a column of the picture, and the sum of the weights by which samples read it.
struct Tap {
  size_t at = 0;
  double weight = 0;
};

/// Those of a cell, in their order: at most as many as the picture has. Returns how many.
size_t TapsOf(const eager::RegionAxis& axis, int64_t cell, Tap* taps) {
  const eager::SampleRange samples = eager::SamplesInside(axis, cell);
  const int64_t count = samples.end - samples.first;
  const bool turned = axis.cell < 0;
  size_t found = 0;
  const auto add = [&](int64_t at, double weight) {
    if (weight == 0) return;
    const auto place = static_cast<size_t>(at);
    // Of samples in order only the last two may be met again.
    for (size_t i = found; i > 0 && i + 2 > found; --i) {
      if (taps[i - 1].at != place) continue;
      taps[i - 1].weight += weight;
      return;
    }
    taps[found++] = {place, weight};
  };
  for (int64_t i = 0; i < count; ++i) {
    const double position = axis.Position(cell, turned ? samples.end - 1 - i : samples.first + i);
    if (!axis.Inside(position)) continue;
    const eager::Neighbours neighbours = eager::NeighboursOf(axis, position);
    add(neighbours.low, neighbours.low_weight);
    add(neighbours.high, neighbours.high_weight);
  }
  return found;
}

class RoiAlignStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (!x.dense() || !node_.in(1).dense() || !node_.in(2).dense()) return Refuse();
    height_ = static_cast<size_t>(x.shape[1]);
    width_ = static_cast<size_t>(x.shape[2]);
    channels_ = static_cast<size_t>(x.shape[3]);
    y_pixel_ = RowsOf(y).stride;
    // A rounded end may be one more.
    taps_bytes_ = AlignUp((height_ + width_ + 2) * sizeof(Tap));
    workspace_bytes_ = pthreadpool_get_threads_count(environment_.pool) * taps_bytes_;
    return OkStatus();
  }

  Status Bind(void* workspace) override {
    workspace_ = static_cast<char*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    const int64_t regions = node_.out(0).shape[0];
    Region region;
    for (int64_t i = 0; i < regions; ++i) SKIFF_RETURN_IF_ERROR(Read(i, &region));
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* self, size_t thread, size_t index, size_t row) {
          static_cast<const RoiAlignStep*>(self)->MakeRow(thread, index, row);
        },
        this, static_cast<size_t>(regions), static_cast<size_t>(node_.out(0).shape[1]), /*flags=*/0);
    return OkStatus();
  }

 private:
  struct Region {
    size_t image = 0;
    eager::RegionAxis rows, columns;
  };

  Status Read(int64_t index, Region* region) const {
    const float* const from = node_.in(1).as<const float>() + index * 4;
    const double corners[4] = {from[0], from[1], from[2], from[3]};
    const int64_t image = IntegerAt(node_.in(2), index);
    region->image = static_cast<size_t>(image);
    return eager::ReadRegion(node_.As<RoiAlignAttrs>(), node_.in(0).shape, node_.out(0).shape, index, image,
                             corners, &region->rows, &region->columns);
  }

  void MakeRow(size_t thread, size_t index, size_t row) const {
    Region region;
    if (!Read(static_cast<int64_t>(index), &region).ok()) return;  // Run() has seen to it.
    auto* const rows = reinterpret_cast<Tap*>(workspace_ + thread * taps_bytes_);
    Tap* const columns = rows + height_ + 1;
    const size_t row_count = TapsOf(region.rows, static_cast<int64_t>(row), rows);
    const double samples = region.rows.count * region.columns.count;
    for (size_t i = 0; i < row_count; ++i) rows[i].weight /= samples > 1 ? samples : 1.0;
    const Shape& shape = node_.out(0).shape;
    const auto cells = static_cast<size_t>(shape[2]);
    float* y = node_.out(0).as<float>() + (index * static_cast<size_t>(shape[1]) + row) * cells * y_pixel_;
    const float* const x = node_.in(0).as<const float>() + region.image * height_ * width_ * channels_;
    for (size_t cell = 0; cell < cells; ++cell, y += y_pixel_) {
      const size_t column_count = TapsOf(region.columns, static_cast<int64_t>(cell), columns);
      Mix(x, rows, row_count, columns, column_count, y);
    }
  }

  /// As many pixels at a time as the kernel takes; from the second time on, one of its runs is their sum so
  /// far.
  void Mix(const float* x, const Tap* rows, size_t row_count, const Tap* columns, size_t column_count,
           float* y) const {
    const float* runs[kMostMixed];
    float weights[kMostMixed];
    size_t count = 0;
    bool flushed = false;
    const auto flush = [&] {
      environment_.kernels->mix(channels_, count, runs, weights, y);
      flushed = true;
      runs[0] = y;
      weights[0] = 1;
      count = 1;
    };
    for (size_t row = 0; row < row_count; ++row) {
      for (size_t column = 0; column < column_count; ++column) {
        runs[count] = x + (rows[row].at * width_ + columns[column].at) * channels_;
        weights[count++] = static_cast<float>(rows[row].weight * columns[column].weight);
        if (count == kMostMixed) flush();
      }
    }
    if (!flushed || count > 1) flush();
  }

  size_t height_ = 0;
  size_t width_ = 0;
  size_t channels_ = 0;
  size_t y_pixel_ = 0;
  size_t taps_bytes_ = 0;
  char* workspace_ = nullptr;  ///< Of each thread taps of rows, then of columns.
};

}  // namespace

Result<StepPointer> LowerRoiAlign(const NodeView& node, const Environment& environment) {
  return MakeStep<RoiAlignStep>(node, environment);
}

}  // namespace skiff::xnnpack
