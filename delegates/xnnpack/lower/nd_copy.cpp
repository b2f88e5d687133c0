#include "delegates/xnnpack/lower/nd_copy.h"

#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

/// Pieces smaller than this are not worth waking a thread for.
constexpr size_t kBytesPerTask = 64 * 1024;

}  // namespace

void StridesOf(const TensorView& view, int64_t (&strides)[kMaxRank]) {
  const int rank = view.shape.rank();
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = i == rank - 1 ? view.row_stride : stride * view.shape[i];
  }
}

void NdCopy::Begin(size_t element_bytes) {
  count_ = 0;
  element_bytes_ = element_bytes;
  run_bytes_ = element_bytes;
  empty_ = false;
}

bool NdCopy::AddAxis(int64_t extent, int64_t from_stride, int64_t to_stride) {
  if (extent == 0) empty_ = true;
  if (extent == 1) return true;
  if (count_ > 0) {
    Axis& outer = axes_[count_ - 1];
    if (outer.from == from_stride * extent && outer.to == to_stride * extent) {
      outer = {outer.extent * extent, from_stride, to_stride};
      return true;
    }
  }
  if (count_ == kMaxRank + 2) return false;
  axes_[count_++] = {extent, from_stride, to_stride};
  return true;
}

void NdCopy::Finish() {
  const auto bytes = static_cast<int64_t>(element_bytes_);
  for (int i = 0; i < count_; ++i) {
    axes_[i].from *= bytes;
    axes_[i].to *= bytes;
  }
  if (count_ > 0 && axes_[count_ - 1].from == bytes && axes_[count_ - 1].to == bytes) {
    run_bytes_ = static_cast<size_t>(axes_[--count_].extent) * element_bytes_;
  }
  // The innermost loop runs over the last axis; a copy of one run has one round of it.
  if (count_ == 0) axes_[count_++] = {1, 0, 0};
}

void NdCopy::CopyAxes(int axis, const char* from, char* to) const {
  const Axis& a = axes_[axis];
  if (axis == count_ - 1) return CopyRows(static_cast<size_t>(a.extent), run_bytes_, from, a.from, to, a.to);
  for (int64_t i = 0; i < a.extent; ++i) CopyAxes(axis + 1, from + i * a.from, to + i * a.to);
}

void NdCopy::Run(const void* from, void* to, pthreadpool_t pool) const {
  if (empty_) return;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  size_t total = run_bytes_;
  for (int i = 0; i < count_; ++i) total *= static_cast<size_t>(axes_[i].extent);
  if (pool == nullptr || total < 2 * kBytesPerTask || axes_[0].extent < 2) return CopyAxes(0, source, target);

  struct Context {
    const NdCopy* copy;
    const char* from;
    char* to;
  } context{this, source, target};
  const auto outer = static_cast<size_t>(axes_[0].extent);
  const size_t bytes_per_slice = total / outer;
  const size_t slices = bytes_per_slice >= kBytesPerTask ? 1 : kBytesPerTask / bytes_per_slice;
  pthreadpool_parallelize_1d_tile_1d(
      pool,
      [](void* argument, size_t begin, size_t count) {
        const auto* c = static_cast<const Context*>(argument);
        NdCopy part = *c->copy;
        part.axes_[0].extent = static_cast<int64_t>(count);
        const auto first = static_cast<int64_t>(begin);
        part.CopyAxes(0, c->from + first * part.axes_[0].from, c->to + first * part.axes_[0].to);
      },
      &context, outer, slices, 0);
}

}  // namespace skiff::xnnpack
