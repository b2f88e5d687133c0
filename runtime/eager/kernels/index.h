/// Walking several tensors in step. Broadcasting, slices, transposes, tiles and reductions are all the same
/// walk with different strides.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "skiff/tensor.h"

namespace skiff::eager {

using AxisStrides = std::array<int64_t, kMaxRank>;

/// Elements from one index of each axis to the next.
inline AxisStrides DenseStrides(const Shape& shape) {
  AxisStrides strides = {};
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// Strides of a dense tensor of shape `from` along the axes of the shape `to` that it is broadcast to.
inline AxisStrides BroadcastStrides(const Shape& from, const Shape& to) {
  const AxisStrides dense = DenseStrides(from);
  AxisStrides strides = {};
  const int missing = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int at = axis + missing;
    strides[static_cast<size_t>(at)] = from[axis] == 1 ? 0 : dense[static_cast<size_t>(axis)];
  }
  return strides;
}

/// Loops over a box of indices in row-major order and reports where N operands stand. Axes are appended from
/// the outermost to the innermost; those that all operands can cross in one stride become one.
template <size_t N>
class StridedWalk {
 public:
  using Offsets = std::array<int64_t, N>;

  void Append(int64_t extent, const Offsets& strides) {
    if (extent == 1) return;
    empty_ = empty_ || extent == 0;
    if (rank_ > 0 && Continues(extent, strides)) {
      extents_[rank_ - 1] *= extent;
      strides_[rank_ - 1] = strides;
      return;
    }
    extents_[rank_] = extent;
    strides_[rank_++] = strides;
  }

  size_t rank() const { return rank_; }
  bool empty() const { return empty_; }
  int64_t extent(size_t axis) const { return extents_[axis]; }
  const Offsets& strides(size_t axis) const { return strides_[axis]; }

  /// Calls visit(offsets, count, strides) for runs of at most `limit` elements along the innermost axis.
  template <class Visit>
  void ForEachRun(int64_t limit, Visit&& visit) const {
    const size_t inner = rank_ == 0 ? 0 : rank_ - 1;
    const int64_t length = rank_ == 0 ? 1 : extents_[inner];
    const Offsets step = rank_ == 0 ? Offsets{} : strides_[inner];
    ForEachOuter(inner, [&](const Offsets& start) {
      for (int64_t done = 0; done < length; done += limit) {
        Offsets offsets = start;
        for (size_t i = 0; i < N; ++i) offsets[i] += done * step[i];
        visit(offsets, length - done < limit ? length - done : limit, step);
      }
    });
  }
  template <class Visit>
  void ForEachRun(Visit&& visit) const {
    ForEachRun(std::numeric_limits<int64_t>::max() / 2, static_cast<Visit&&>(visit));
  }

  /// Calls visit(offsets) at each index of the first `axes` axes.
  template <class Visit>
  void ForEachOuter(size_t axes, Visit&& visit) const {
    if (empty_) return;
    int64_t index[kMaxAxes] = {};
    Offsets offsets = {};
    for (;;) {
      visit(offsets);
      size_t axis = axes;
      for (; axis > 0; --axis) {
        const size_t a = axis - 1;
        for (size_t i = 0; i < N; ++i) offsets[i] += strides_[a][i];
        if (++index[a] < extents_[a]) break;
        for (size_t i = 0; i < N; ++i) offsets[i] -= strides_[a][i] * extents_[a];
        index[a] = 0;
      }
      if (axis == 0) return;
    }
  }

 private:
  /// A tile splits each axis in two.
  static constexpr size_t kMaxAxes = 2 * kMaxRank;

  bool Continues(int64_t extent, const Offsets& strides) const {
    for (size_t i = 0; i < N; ++i) {
      if (strides_[rank_ - 1][i] != strides[i] * extent) return false;
    }
    return true;
  }

  size_t rank_ = 0;
  bool empty_ = false;
  int64_t extents_[kMaxAxes] = {};
  Offsets strides_[kMaxAxes] = {};
};

/// The walk of an elementwise operator: operand 0 is the dense output, the others are broadcast to it.
template <class... Inputs>
StridedWalk<1 + sizeof...(Inputs)> BroadcastWalk(const Shape& output, const Inputs&... inputs) {
  const AxisStrides all[] = {DenseStrides(output), BroadcastStrides(inputs, output)...};
  StridedWalk<1 + sizeof...(Inputs)> walk;
  for (int axis = 0; axis < output.rank(); ++axis) {
    std::array<int64_t, 1 + sizeof...(Inputs)> strides;
    for (size_t i = 0; i < strides.size(); ++i) strides[i] = all[i][static_cast<size_t>(axis)];
    walk.Append(output[axis], strides);
  }
  return walk;
}

}  // namespace skiff::eager
