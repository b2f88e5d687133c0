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
/// Among threads: pairs of panels are too few to be shared evenly, and each would make the same sums of
/// inputs.
constexpr size_t kLeastSharedRows = 24;

/// Weights beyond a second-level cache come from memory where the net has many of them, and their sums are
/// read beside them: 12 rows took 1.2 (AVX-512) and 1.5 (AVX2) times as long so, 24 rows 0.93 and 1.11, 32
/// rows 0.95 and 0.99.
constexpr size_t kNearBytes = 1024 * 1024;
constexpr size_t kLeastFarRows = 28;

/// Of the time of the direct way. What comes from memory takes the same with either, and gains are less.
constexpr double kMostTime = 0.98;

size_t Aligned(size_t elements) { return DivideUp(elements, kLineElements) * kLineElements; }

}  // namespace

bool StrassenProduct::IsFaster(const DenseShape& shape, size_t rows, const Kernels& kernels) {
  const size_t least = kernels.dense_outputs;
  if (kernels.strassen.products == nullptr || shape.run % 2 != 0 || shape.run < 2 * least ||
      shape.outputs < 2 * least || rows < 2)
    return false;
  // Where vectors of 64 bytes are multiplied at once, the sums, which caches are to keep up with, take as
  // long as the products that they save: five nets took 1 to 7 % longer on a Xeon.
  if (kernels.narrower != nullptr && !WideVectorsAreTwoHalves()) return false;
  if (rows < kLeastFarRows && shape.run * shape.outputs * sizeof(float) > kNearBytes) return false;
  const auto outputs = static_cast<double>(shape.outputs);
  const auto paired = static_cast<double>(shape.outputs - shape.outputs % (2 * least));
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
  const size_t fit = std::clamp(kSumsBytes / (args.run * sizeof(float)), kLeastBlockRows, kMostBlockRows);
  blocks_ = DivideUp(rows, fit);
  const size_t as_many = DivideUp(blocks_, threads) * threads;
  if (rows / as_many >= kLeastSharedRows) blocks_ = as_many;
  const size_t parts = std::min(DivideUp(tasks, blocks_), DivideUp(panels_, 2));
  at_once_ = DivideUp(DivideUp(panels_, parts), 2) * 2;
  parts_ = DivideUp(panels_, at_once_);

  SKIFF_RETURN_IF_ERROR(summed_.Allocate(threads));
  sums_elements_ = Aligned(DivideUp(rows / 2, blocks_) * args_.pair_elements);
  thread_elements_ = sums_elements_ + Aligned(2 * args.run * kernels.dense_outputs);
  workspace_bytes_ = threads * thread_elements_ * sizeof(float);
  return OkStatus();
}

void StrassenProduct::Bind(const DenseArgs& args, void* workspace) {
  args_.x = args.x;
  args_.y = args.y;
  workspace_ = static_cast<float*>(workspace);
}

void StrassenProduct::Run(const Step& step, pthreadpool_t pool) {
  struct Context {
    StrassenProduct& product;
    const Step& step;
  } context{*this, step};
  std::fill(summed_.begin(), summed_.end(), 0);
  pthreadpool_parallelize_1d_with_thread(
      pool,
      [](void* of, size_t thread, size_t index) {
        const auto& [product, run] = *static_cast<const Context*>(of);
        product.RunPart(run, thread, index);
      },
      &context, blocks_ * parts_, /*flags=*/0);
}

void StrassenProduct::RunPart(const Step& step, size_t thread, size_t index) {
  const size_t block = index / parts_;
  const size_t pairs = rows_ / 2;
  const size_t first = block * pairs / blocks_ * 2;
  const size_t rows = (block + 1 < blocks_ ? (block + 1) * pairs / blocks_ * 2 : rows_) - first;
  StrassenArgs args = args_;
  args.x += first * args.x_stride;
  args.y += first * args.y_stride;
  args.sums = workspace_ + thread * thread_elements_;
  if (summed_[thread] != block + 1) kernels_->inputs(args, 0, rows);
  summed_[thread] = block + 1;
  const size_t panel = index % parts_ * at_once_;
  kernels_->products(args, 0, rows, panel, std::min(panel + at_once_, panels_), args.sums + sums_elements_);
  if (leads()) step.FollowUp(first, rows);
}

}  // namespace skiff::xnnpack
