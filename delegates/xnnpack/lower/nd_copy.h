/// Copies between two strided blocks of up to kMaxRank axes: what concatenation, splitting, slicing,
/// expanding, tiling and reshaping of views come down to. A stride of 0 repeats elements, a negative one
/// reverses them.
#pragma once

#include <cstddef>

#include <pthreadpool.h>

#include "skiff/tensor.h"

namespace skiff::xnnpack {

/// Distances in elements between neighbours along each axis of a tensor whose rows may lie apart.
void StridesOf(const TensorView& view, int64_t (&strides)[kMaxRank]);

class NdCopy {
 public:
  /// Begin(), then the axes from the outermost to the innermost with their strides in elements, then
  /// Finish(). Axes of extent 1 vanish, and neighbours that form one run are merged. AddAxis() is false when
  /// too many are left.
  void Begin(size_t element_bytes);
  bool AddAxis(int64_t extent, int64_t from_stride, int64_t to_stride);
  void Finish();

  /// No overlap between the blocks.
  void Run(const void* from, void* to, pthreadpool_t pool) const;
  bool empty() const { return empty_; }

 private:
  struct Axis {
    int64_t extent = 1;
    int64_t from = 0;  ///< In bytes, once finished.
    int64_t to = 0;
  };
  /// Copies axes [axis, axes_) and what is inside them.
  void CopyAxes(int axis, const char* from, char* to) const;

  Axis axes_[kMaxRank + 2];
  int count_ = 0;
  size_t element_bytes_ = 1;
  size_t run_bytes_ = 0;  ///< Contiguous in both, inside the last axis.
  bool empty_ = false;
};

}  // namespace skiff::xnnpack
