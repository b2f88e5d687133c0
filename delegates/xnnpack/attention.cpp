#include "delegates/xnnpack/attention.h"

#include <algorithm>
#include <cstring>

#include "core/align.h"
#include "delegates/xnnpack/lower/flushing.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {
namespace {

/// The scores of a block, which shall stay in the second-level cache, and rows enough for the tiles of the
/// dense kernels.
constexpr size_t kScoreBytes = 128 * 1024;
constexpr size_t kLeastRows = 24;
constexpr size_t kMostRows = 96;

}  // namespace

bool Attention::IsChange(const Step& step) {
  const PartialWork* const work = step.partial_work();
  return work != nullptr && (work->change_rows != nullptr || work->run_elements != nullptr);
}

bool Attention::Takes(const Parts& parts) {
  const BatchShape& scores = parts.scores->shape();
  const BatchShape& sums = parts.sums->shape();
  // As many products, none of which reads the scores of another.
  const bool same_rows =
      sums.m == scores.m && sums.k == scores.n && parts.sums->products() == parts.scores->products() &&
      parts.sums->x().tensor->shape.elements() == parts.scores->y().tensor->shape.elements();
  return same_rows && parts.queries.column == 1 && parts.result.column == 1 &&
         parts.scores->TakesB(parts.keys) && parts.sums->TakesB(parts.values);
}

Attention::Attention(const Parts& parts, pthreadpool_t pool) : parts_(parts), pool_(pool) {
  const size_t rows = parts.scores->shape().m;
  const size_t row_bytes = parts.scores->shape().n * sizeof(float);
  const size_t most = std::clamp(kScoreBytes / row_bytes, kLeastRows, kMostRows);
  const size_t threads = pthreadpool_get_threads_count(pool);
  const size_t tasks = threads == 1 ? 1 : kTasksOfThread * threads;
  const size_t wanted = std::min(DivideUp(tasks, parts.scores->products()), DivideUp(rows, kLeastRows));
  block_rows_ = DivideUp(rows, std::max(DivideUp(rows, most), wanted));
  blocks_ = DivideUp(rows, block_rows_);
  values_place_ = AlignUp(parts.scores->packed_bytes());
  scores_place_ = values_place_ + AlignUp(parts.sums->packed_bytes());
  thread_bytes_ = AlignUp(block_rows_ * row_bytes + kReadableTail);
  queries_place_ = scores_place_ + threads * thread_bytes_;
  queries_bytes_ = AlignUp(static_cast<size_t>(parts.queries.tensor->bytes()) + kReadableTail);
}

bool Attention::WritesOverOwnQueries() const {
  const Matrices& from = parts_.queries;
  const Matrices& to = parts_.result;
  return from.tensor->data == to.tensor->data && from.row == to.row &&
         parts_.scores->shape().k == parts_.sums->shape().n &&
         std::equal(from.batch, from.batch + parts_.scores->shape().rank, to.batch);
}

void Attention::Bind(void* workspace, bool copies_queries) {
  workspace_ = static_cast<char*>(workspace);
  queries_ = parts_.queries.tensor->as<const float>();
  if (copies_queries) queries_ = reinterpret_cast<const float*>(workspace_ + queries_place_);
}

void Attention::Run() const {
  const TensorView& queries = *parts_.queries.tensor;
  if (queries_ != queries.data)
    std::memcpy(workspace_ + queries_place_, queries.data, static_cast<size_t>(queries.bytes()));
  parts_.scores->Pack(parts_.keys, reinterpret_cast<float*>(workspace_), pool_);
  parts_.sums->Pack(parts_.values, reinterpret_cast<float*>(workspace_ + values_place_), pool_);
  pthreadpool_parallelize_1d_with_thread(
      pool_,
      [](void* attention, size_t thread, size_t index) {
        static_cast<const Attention*>(attention)->RunBlock(thread, index);
      },
      const_cast<Attention*>(this), parts_.scores->products() * blocks_, /*flags=*/0);
}

void Attention::RunBlock(size_t thread, size_t index) const {
  const BatchShape& shape = parts_.scores->shape();
  const size_t product = index / blocks_;
  const size_t first = index % blocks_ * block_rows_;
  const size_t count = std::min(block_rows_, shape.m - first);
  const size_t row = product * shape.m + first;
  auto* const scores = reinterpret_cast<float*>(workspace_ + scores_place_ + thread * thread_bytes_);

  const float* const queries = queries_ + parts_.scores->Offset(parts_.queries, product, first);
  parts_.scores->RunRows({parts_.keys, reinterpret_cast<const float*>(workspace_)}, product,
                         {queries, parts_.queries.row, scores, shape.n}, count);
  Flushing([&] {
    for (size_t i = 0; i < parts_.change_count; ++i) {
      const Step& change = *parts_.changes[i];
      const PartialWork& work = *change.partial_work();
      if (work.change_rows != nullptr)
        work.change_rows(change, row, count, scores);
      else
        work.run_elements(change, count * shape.n, scores, scores);
    }
  });
  float* const result =
      parts_.result.tensor->as<float>() + parts_.sums->Offset(parts_.result, product, first);
  parts_.sums->RunRows({parts_.values, reinterpret_cast<const float*>(workspace_ + values_place_)}, product,
                       {scores, shape.n, result, parts_.result.row}, count);
  parts_.sums->FollowUp(row, count);
}

}  // namespace skiff::xnnpack
