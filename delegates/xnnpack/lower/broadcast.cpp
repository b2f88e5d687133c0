#include "delegates/xnnpack/lower/broadcast.h"

#include <algorithm>

#include "delegates/xnnpack/lower/nd_copy.h"

namespace skiff::xnnpack {

BroadcastAxes::BroadcastAxes(Span<const TensorView* const> operands) {
  int64_t strides[kMostOperands][kMaxRank];
  for (size_t t = 0; t < operands.size(); ++t) StridesOf(*operands[t], strides[t]);
  const Shape& y = operands[0]->shape;
  for (int i = 1; i <= y.rank(); ++i) {
    Axis added;
    added.extent = y[y.rank() - i];
    for (size_t t = 0; t < operands.size(); ++t) {
      const int axis = operands[t]->shape.rank() - i;
      added.stride[t] = axis < 0 || operands[t]->shape[axis] == 1 ? 0 : strides[t][axis];
    }
    Add(added);
  }
  if (count_ == 0) {
    std::fill(std::begin(axes_[0].stride), std::end(axes_[0].stride), 1);
    count_ = 1;
  }
}

void BroadcastAxes::Add(const Axis& axis) {
  if (axis.extent == 1) return;
  if (count_ > 0) {
    Axis& inner = axes_[count_ - 1];
    bool continues = true;
    for (int t = 0; t < kMostOperands; ++t)
      continues = continues && axis.stride[t] == inner.stride[t] * inner.extent;
    if (continues) {
      inner.extent *= axis.extent;
      return;
    }
  }
  axes_[count_++] = axis;
}

Status BroadcastStep::Reshape() {
  const TensorView* views[BroadcastAxes::kMostOperands] = {&node_.out(0)};
  operands_ = 1;
  for (size_t i = 0; i < node_.inputs(); ++i) views[operands_++] = &node_.in(i);
  const BroadcastAxes axes({views, static_cast<size_t>(operands_)});
  // The kernels read neighbours or one value; anything else is done one element at a time.
  bool has_run = axes[0].stride[0] == 1;
  for (int t = 1; t < operands_; ++t) has_run = has_run && axes[0].stride[t] <= 1;
  run_ = has_run ? axes[0] : BroadcastAxes::Axis{1, {1, 1, 1, 1}};
  bool repeats[BroadcastAxes::kMostOperands - 1] = {};
  for (int t = 1; t < operands_; ++t) repeats[t - 1] = run_.stride[t] == 0;
  Choose(repeats);
  outer_count_ = 0;
  outer_total_ = 1;
  for (int i = has_run ? 1 : 0; i < axes.count(); ++i) {
    outer_total_ *= static_cast<size_t>(axes[i].extent);
    outer_[outer_count_++] = axes[i];
  }
  for (int t = 0; t < operands_; ++t) {
    const auto bytes = static_cast<int64_t>(ElementBytes(*views[t]));
    run_.stride[t] *= bytes;
    for (int i = 0; i < outer_count_; ++i) outer_[i].stride[t] *= bytes;
  }
  return OkStatus();
}

Status BroadcastStep::Bind(void*) {
  base_[0] = node_.out(0).as<char>();
  for (size_t i = 0; i < node_.inputs(); ++i) base_[1 + i] = static_cast<char*>(node_.in(i).data);
  return OkStatus();
}

void BroadcastStep::RunBlock(size_t begin, size_t count) const {
  Addresses at;
  for (int t = 0; t < operands_; ++t) at[t] = base_[t] + static_cast<int64_t>(begin) * run_.stride[t];
  Compute(count, at);
}

void BroadcastStep::RunRows(size_t begin, size_t count) const {
  const BroadcastAxes::Axis& rows = outer_[0];
  const auto run = static_cast<size_t>(run_.extent);
  while (count > 0) {
    Addresses at;
    std::copy(std::begin(base_), std::end(base_), at);
    auto rest = static_cast<int64_t>(begin);
    for (int i = 0; i < outer_count_; ++i) {
      for (int t = 0; t < operands_; ++t) at[t] += rest % outer_[i].extent * outer_[i].stride[t];
      rest /= outer_[i].extent;
    }
    const auto extent = static_cast<size_t>(rows.extent);
    const size_t stretch = std::min(count, extent - begin % extent);
    for (size_t row = 0; row < stretch; ++row) {
      Compute(run, at);
      for (int t = 0; t < BroadcastAxes::kMostOperands; ++t) at[t] += rows.stride[t];
    }
    begin += stretch;
    count -= stretch;
  }
}

Status BroadcastStep::Run() {
  const auto run = static_cast<size_t>(run_.extent);
  const bool one_run = outer_total_ == 1;
  const size_t range = one_run ? run : outer_total_;
  const size_t tile = environment_.pool == nullptr ? range : (one_run ? kBlock : (kBlock + run - 1) / run);
  pthreadpool_parallelize_1d_tile_1d(
      environment_.pool,
      [](void* self, size_t begin, size_t count) {
        const auto* s = static_cast<const BroadcastStep*>(self);
        s->outer_total_ == 1 ? s->RunBlock(begin, count) : s->RunRows(begin, count);
      },
      this, range, tile, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  return OkStatus();
}

}  // namespace skiff::xnnpack
