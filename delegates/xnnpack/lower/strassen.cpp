#include "delegates/xnnpack/lower/strassen.h"

#include <algorithm>

#include "core/align.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kLineElements = kAlignment / sizeof(float);

/// Rows of a block: the sums of weights are made for each, and those of its inputs shall stay in a cache.
constexpr size_t kMostBlockRows = 256;
constexpr size_t kSumsBytes = 1280 * 1024;
constexpr size_t kLeastBlockRows = 96;
/// Of which a thread makes sums at a time.
constexpr size_t kPieceRows = 16;

/// Of the time of the direct way. What comes from memory takes the same with either, and gains are less.
constexpr double kMostTime = 0.98;

size_t Aligned(size_t elements) { return DivideUp(elements, kLineElements) * kLineElements; }

}  // namespace

bool StrassenProduct::IsFaster(const DenseShape& shape, size_t rows, const Kernels& kernels) {
  const size_t least = kernels.dense_outputs;
  if (kernels.strassen.products == nullptr || shape.run % 2 != 0 || shape.run < 2 * least ||
      shape.outputs < 2 * least || rows < 2)
    return false;
  const auto outputs = static_cast<double>(shape.outputs);
  const auto paired = static_cast<double>(shape.outputs / (2 * least) * 2 * least);
  const StrassenTimes& times = kernels.strassen.times;
  const double time = 1 - paired / outputs / 8 + times.rest + times.of_inputs / outputs +
                      times.of_weights / static_cast<double>(std::min(rows, kLeastBlockRows)) +
                      times.of_products / static_cast<double>(shape.run);
  return time < kMostTime;
}

Status StrassenProduct::Prepare(const DenseArgs& args, size_t rows, const Kernels& kernels,
                                pthreadpool_t pool) {
  kernels_ = &kernels.strassen;
  static_cast<DenseArgs&>(args_) = args;
  rows_ = rows;
  panels_ = DensePanelCount(args, kernels);
  if (of_like_size_.empty()) {
    SKIFF_RETURN_IF_ERROR(of_like_size_.Allocate(DivideUp(panels_, 2)));
    kernels_->weights(args_, of_like_size_.data());
  }
  args_.of_like_size = of_like_size_.data();
  // Odd numbers of cache lines, so that those of the rows of a tile do not share a place in the cache.
  args_.pair_elements = (DivideUp(2 * args.run + 1, kLineElements) | 1) * kLineElements;

  const size_t threads = pthreadpool_get_threads_count(pool);
  const size_t tasks = threads == 1 ? 1 : kTasksOfThread * threads;
  const size_t fit = std::clamp(std::min(kSumsBytes / (args.run * sizeof(float)), rows / tasks),
                                kLeastBlockRows, kMostBlockRows);
  block_rows_ = DivideUp(DivideUp(rows, DivideUp(rows, fit)), 2) * 2;
  blocks_ = DivideUp(rows, block_rows_);
  by_stages_ = blocks_ < tasks;
  const size_t parts = std::min(DivideUp(tasks, blocks_), DivideUp(panels_, 2));
  at_once_ = DivideUp(DivideUp(panels_, parts), 2) * 2;

  sums_elements_ = Aligned(DivideUp(by_stages_ ? rows : block_rows_, 2) * args_.pair_elements);
  thread_elements_ = Aligned(2 * args.run * kernels.dense_outputs);
  if (!by_stages_) thread_elements_ += sums_elements_;
  workspace_bytes_ = (threads * thread_elements_ + (by_stages_ ? sums_elements_ : 0)) * sizeof(float);
  return OkStatus();
}

void StrassenProduct::Bind(const DenseArgs& args, void* workspace) {
  args_.x = args.x;
  args_.y = args.y;
  workspace_ = static_cast<float*>(workspace);
}

float* StrassenProduct::MadeOf(size_t thread) const {
  return workspace_ + sums_elements_ + thread * thread_elements_;
}

void StrassenProduct::Run(const Step& step, pthreadpool_t pool) const {
  struct Context {
    const StrassenProduct& product;
    const Step& step;
  } context{*this, step};
  if (!by_stages_) {
    pthreadpool_parallelize_1d_with_thread(
        pool,
        [](void* of, size_t thread, size_t block) {
          const auto& [product, run] = *static_cast<const Context*>(of);
          product.RunBlock(run, thread, block);
        },
        &context, blocks_, /*flags=*/0);
    return;
  }
  pthreadpool_parallelize_1d(
      pool, [](void* of, size_t piece) { static_cast<const Context*>(of)->product.RunInputs(piece); },
      &context, DivideUp(rows_, kPieceRows), /*flags=*/0);
  pthreadpool_parallelize_1d_with_thread(
      pool,
      [](void* of, size_t thread, size_t index) {
        static_cast<const Context*>(of)->product.RunProducts(thread, index);
      },
      &context, blocks_ * DivideUp(panels_, at_once_), /*flags=*/0);
}

void StrassenProduct::RunBlock(const Step& step, size_t thread, size_t block) const {
  const size_t first = block * block_rows_;
  const size_t rows = std::min(block_rows_, rows_ - first);
  StrassenArgs args = args_;
  args.x += first * args.x_stride;
  args.y += first * args.y_stride;
  args.sums = workspace_ + thread * thread_elements_;
  kernels_->inputs(args, 0, rows);
  kernels_->products(args, 0, rows, 0, panels_, MadeOf(thread));
  step.FollowUp(first, rows);
}

void StrassenProduct::RunInputs(size_t piece) const {
  StrassenArgs args = args_;
  args.sums = workspace_;
  kernels_->inputs(args, piece * kPieceRows, std::min((piece + 1) * kPieceRows, rows_));
}

void StrassenProduct::RunProducts(size_t thread, size_t index) const {
  const size_t first = index % blocks_ * block_rows_;
  const size_t panel = index / blocks_ * at_once_;
  StrassenArgs args = args_;
  args.sums = workspace_;
  kernels_->products(args, first, std::min(first + block_rows_, rows_), panel,
                     std::min(panel + at_once_, panels_), MadeOf(thread));
}

}  // namespace skiff::xnnpack
