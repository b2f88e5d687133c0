#include "delegates/xnnpack/lower/broadcast.h"

#include <algorithm>
#include <cstring>

#include "delegates/xnnpack/lower/nd_copy.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "runtime/core/align.h"

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
  JoinShortRows();
  static constexpr PartialWork kWorks[2][2] = {
      {{}, {.change_rows = &ChangeRows}},
      {{.run_rows = &RunRowsOf}, {.run_rows = &RunRowsOf, .change_rows = &ChangeRows}}};
  if (kHasOwnKernels) {
    const bool forms_rows = FormsRows({views, static_cast<size_t>(operands_)});
    work_ = &kWorks[forms_rows ? 1 : 0][ChangesRows() ? 1 : 0];
  }
  return OkStatus();
}

/// Input 0 is no smaller than the output, and no row is computed in pieces.
bool BroadcastStep::ChangesRows() const {
  const TensorView& x = node_.in(0);
  const TensorView& y = node_.out(0);
  return x.dtype == DType::kF32 && y.dtype == DType::kF32 && x.shape == y.shape && x.dense() && y.dense() &&
         run_.extent >= y.shape.last();
}

void BroadcastStep::ChangeRows(const Step& step, size_t first_row, size_t rows, float* rows_at) {
  const auto& self = static_cast<const BroadcastStep&>(step);
  const auto length = static_cast<size_t>(self.node_.out(0).shape.last());
  const auto run = static_cast<size_t>(self.run_.extent);
  for (size_t element = first_row * length, left = rows * length; left > 0;) {
    const size_t in_run = element % run;
    const size_t count = std::min(run - in_run, left);
    Addresses at;
    self.AddressesOfRun(element / run, at);
    for (int t = 2; t < self.operands_; ++t) {
      if (self.repeated_[t]) at[t] = const_cast<char*>(self.one_row_[t]);
      at[t] += static_cast<int64_t>(in_run) * self.run_.stride[t];
    }
    at[0] = at[1] = reinterpret_cast<char*>(rows_at);
    self.Compute(count, at);
    rows_at += count;
    element += count;
    left -= count;
  }
}

/// Whether all operands have the rows of the output, and what a call computes is made of them.
bool BroadcastStep::FormsRows(Span<const TensorView* const> operands) const {
  for (const TensorView* operand : operands) {
    if (!(operand->shape == operands[0]->shape)) return false;
  }
  return outer_total_ == 1 || (outer_count_ == 1 && run_.extent == operands[0]->shape.last());
}

void BroadcastStep::RunRowsOf(const Step& step, size_t first_row, size_t rows) {
  const auto& self = static_cast<const BroadcastStep&>(step);
  if (self.outer_total_ != 1) return self.RunRows(first_row, rows);
  const auto length = static_cast<size_t>(self.node_.out(0).shape.last());
  self.RunBlock(first_row * length, rows * length);
}

/// A vector along the channels of a picture, say, whose rows are too short to be worth a call each.
void BroadcastStep::JoinShortRows() {
  constexpr int64_t kShort = 64;
  constexpr int64_t kJoined = 512;
  rows_at_once_ = 1;
  workspace_bytes_ = 0;
  std::fill(std::begin(repeated_), std::end(repeated_), false);
  if (outer_count_ == 0 || run_.extent > kShort || run_.extent < 2) return;
  bool repeated[BroadcastAxes::kMostOperands] = {};
  for (int t = 0; t < operands_; ++t) {
    const int64_t row = run_.extent * run_.stride[t];
    if (row == 0) return;
    if (outer_[0].stride[t] == row) continue;
    for (int i = 0; i < outer_count_; ++i) {
      if (t == 0 || outer_[i].stride[t] != 0) return;
    }
    repeated[t] = true;
  }
  rows_at_once_ = static_cast<size_t>(std::min(outer_[0].extent, kJoined / run_.extent));
  std::copy(std::begin(repeated), std::end(repeated), std::begin(repeated_));
  for (int t = 1; t < operands_; ++t) workspace_bytes_ += JoinedBytes(t);
}

/// Rounded up: behind the bytes of a condition may lie floats.
size_t BroadcastStep::JoinedBytes(int operand) const {
  if (!repeated_[operand]) return 0;
  return AlignUp(rows_at_once_ * static_cast<size_t>(run_.extent * run_.stride[operand]));
}

Status BroadcastStep::Bind(void* workspace) {
  base_[0] = node_.out(0).as<char>();
  char* place = static_cast<char*>(workspace);
  for (int t = 1; t < operands_; ++t) {
    base_[t] = static_cast<char*>(node_.in(static_cast<size_t>(t) - 1).data);
    if (!repeated_[t]) continue;
    one_row_[t] = base_[t];
    base_[t] = place;
    place += JoinedBytes(t);
  }
  return OkStatus();
}

void BroadcastStep::RunBlock(size_t begin, size_t count) const {
  Addresses at;
  for (int t = 0; t < operands_; ++t) at[t] = base_[t] + static_cast<int64_t>(begin) * run_.stride[t];
  Compute(count, at);
}

void BroadcastStep::AddressesOfRun(size_t run, Addresses& at) const {
  std::copy(std::begin(base_), std::end(base_), at);
  auto rest = static_cast<int64_t>(run);
  for (int i = 0; i < outer_count_; ++i) {
    for (int t = 0; t < operands_; ++t) at[t] += rest % outer_[i].extent * outer_[i].stride[t];
    rest /= outer_[i].extent;
  }
}

void BroadcastStep::RunRows(size_t begin, size_t count) const {
  const BroadcastAxes::Axis& rows = outer_[0];
  const auto run = static_cast<size_t>(run_.extent);
  while (count > 0) {
    Addresses at;
    AddressesOfRun(begin, at);
    const auto extent = static_cast<size_t>(rows.extent);
    const size_t stretch = std::min(count, extent - begin % extent);
    for (size_t row = 0; row < stretch; row += rows_at_once_) {
      Compute(run * std::min(rows_at_once_, stretch - row), at);
      for (int t = 0; t < BroadcastAxes::kMostOperands; ++t)
        at[t] += static_cast<int64_t>(rows_at_once_) * rows.stride[t];
    }
    begin += stretch;
    count -= stretch;
  }
}

Status BroadcastStep::Run() {
  for (int t = 1; t < operands_; ++t) {
    const auto row = static_cast<size_t>(run_.extent * run_.stride[t]);
    for (size_t i = 0; repeated_[t] && i < rows_at_once_; ++i)
      std::memcpy(base_[t] + i * row, one_row_[t], row);
  }
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
