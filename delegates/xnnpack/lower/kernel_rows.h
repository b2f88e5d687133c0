/// Elementwise kernels of ours with one input. Rows of a view may lie apart on both sides.
#pragma once

#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {

/// A kernel of ours over rows: the elements of a row that lie side by side.
class KernelRowsStep : public Step {
 public:
  /// `input` is the one that the rows are of.
  KernelRowsStep(const NodeView& node, const Environment& environment, size_t input = 0)
      : Step(node, environment), input_(input) {}

  Status Reshape() final {
    from_ = RowsOf(node_.in(input_));
    to_ = RowsOf(node_.out(0));
    row_length_ = from_.length;
    if (kHasOwnKernels) work_ = IsF32() ? &kF32Work : &kRowsWork;
    if (from_.stride == from_.length && to_.stride == to_.length)
      from_ = to_ = {1, from_.count * from_.length, 0};
    return OkStatus();
  }

  Status Bind(void*) final {
    x_ = node_.in(input_).as<const char>();
    y_ = node_.out(0).as<char>();
    return OkStatus();
  }

  Status Run() final {
    if (from_.count == 1) {
      // One long run: threads take blocks of it.
      pthreadpool_parallelize_1d_tile_1d(
          environment_.pool,
          [](void* self, size_t begin, size_t count) {
            const auto* s = static_cast<const KernelRowsStep*>(self);
            s->Compute(count, s->x_ + begin * s->x_bytes_, s->y_ + begin * s->y_bytes_);
          },
          this, from_.length, environment_.pool == nullptr ? from_.length : kBlock,
          PTHREADPOOL_FLAG_DISABLE_DENORMALS);
      return OkStatus();
    }
    pthreadpool_parallelize_1d(
        environment_.pool,
        [](void* self, size_t row) { static_cast<const KernelRowsStep*>(self)->RunRow(row); }, this,
        from_.count, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 protected:
  virtual void Compute(size_t n, const void* x, void* y) const = 0;

 private:
  static constexpr size_t kBlock = 8192;

  bool IsF32() const {
    return node_.inputs() == 1 && node_.in(0).dtype == DType::kF32 && node_.out(0).dtype == DType::kF32;
  }
  static void RunElements(const Step& step, size_t n, const float* x, float* y) {
    static_cast<const KernelRowsStep&>(step).Compute(n, x, y);
  }
  static void RunRows(const Step& step, size_t first_row, size_t rows) {
    const auto& s = static_cast<const KernelRowsStep&>(step);
    if (s.from_.count == 1) {
      const size_t begin = first_row * s.row_length_;
      s.Compute(rows * s.row_length_, s.x_ + begin * s.x_bytes_, s.y_ + begin * s.y_bytes_);
      return;
    }
    for (size_t row = first_row; row < first_row + rows; ++row) s.RunRow(row);
  }
  void RunRow(size_t row) const {
    Compute(from_.length, x_ + row * from_.stride * x_bytes_, y_ + row * to_.stride * y_bytes_);
  }

  static constexpr PartialWork kRowsWork = {.run_rows = &RunRows};
  static constexpr PartialWork kF32Work = {.run_rows = &RunRows, .run_elements = &RunElements};

  const size_t input_;
  const size_t x_bytes_ = ElementBytes(node_.in(input_));
  const size_t y_bytes_ = ElementBytes(node_.out(0));
  Rows from_, to_;  ///< One long row where none lies apart.
  size_t row_length_ = 0;
  const char* x_ = nullptr;
  char* y_ = nullptr;
};

}  // namespace skiff::xnnpack
