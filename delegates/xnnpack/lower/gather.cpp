// Runs of elements from where indices say.
#include <cstring>

#include "delegates/xnnpack/lower/lowerings.h"
#include "eager/kernels/indices.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kBytesPerTask = 64 * 1024;

/// Calls copy(i) for all runs of `bytes`, shared among the threads.
template <class Copy>
void ForEachRun(pthreadpool_t pool, size_t runs, size_t bytes, const Copy& copy) {
  pthreadpool_parallelize_1d_tile_1d(
      pool,
      [](void* context, size_t begin, size_t count) {
        const auto& each = *static_cast<const Copy*>(context);
        for (size_t i = begin; i < begin + count; ++i) each(static_cast<int64_t>(i));
      },
      const_cast<Copy*>(&copy), runs, pool == nullptr ? runs : 1 + kBytesPerTask / (bytes + 1), /*flags=*/0);
}

/// Along one axis.
class GatherStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    if (!IsDense(node_)) return Refuse();
    const int axis = NormalizeAxis(node_.As<AxisAttrs>().axis, x.shape.rank());
    if (axis < 0) return Refuse();
    extent_ = x.shape[axis];
    count_ = node_.in(1).shape.elements();
    outer_ = x.shape.ElementsBetween(0, axis);
    run_bytes_ = x.shape.ElementsBetween(axis + 1, x.shape.rank()) * DTypeSize(x.dtype);
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    SKIFF_RETURN_IF_ERROR(eager::CheckIndices(node_.op(), node_.in(1), &extent_, 1));
    const char* const from = node_.in(0).as<const char>();
    char* const to = node_.out(0).as<char>();
    const auto bytes = static_cast<size_t>(run_bytes_);
    ForEachRun(environment_.pool, static_cast<size_t>(outer_ * count_), bytes, [&](int64_t i) {
      const int64_t index = eager::FromEnd(IntegerAt(node_.in(1), i % count_), extent_);
      std::memcpy(to + i * run_bytes_, from + (i / count_ * extent_ + index) * run_bytes_, bytes);
    });
    return OkStatus();
  }

 private:
  int64_t extent_ = 0;
  int64_t count_ = 0;  ///< Indices.
  int64_t outer_ = 0;
  int64_t run_bytes_ = 0;
};

/// Along several axes: a tuple of indices for each run.
class GatherNDStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& indices = node_.in(1);
    if (!IsDense(node_)) return Refuse();
    const int batch_dims = static_cast<int>(node_.As<GatherNDAttrs>().batch_dims);
    address_ = eager::TupleAddress(x.shape, batch_dims, static_cast<int>(indices.shape.last()));
    tuples_ = indices.shape.ElementsBetween(batch_dims, indices.shape.rank() - 1);
    batches_ = x.shape.ElementsBetween(0, batch_dims);
    batch_elements_ = x.shape.ElementsBetween(batch_dims, x.shape.rank());
    run_bytes_ = x.shape.ElementsBetween(batch_dims + address_.length, x.shape.rank()) * DTypeSize(x.dtype);
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    const TensorView& indices = node_.in(1);
    SKIFF_RETURN_IF_ERROR(eager::CheckIndices(node_.op(), indices, address_.extents, address_.length));
    const char* const from = node_.in(0).as<const char>();
    char* const to = node_.out(0).as<char>();
    const auto bytes = static_cast<size_t>(run_bytes_);
    const int64_t size = DTypeSize(node_.in(0).dtype);
    ForEachRun(environment_.pool, static_cast<size_t>(batches_ * tuples_), bytes, [&](int64_t i) {
      const int64_t at = i / tuples_ * batch_elements_ + address_.Offset(indices, i);
      std::memcpy(to + i * run_bytes_, from + at * size, bytes);
    });
    return OkStatus();
  }

 private:
  eager::TupleAddress address_{Shape(), 0, 0};
  int64_t tuples_ = 0;  ///< Of a batch.
  int64_t batches_ = 0;
  int64_t batch_elements_ = 0;
  int64_t run_bytes_ = 0;
};

}  // namespace

Result<StepPointer> LowerGather(const NodeView& node, const Environment& environment) {
  return MakeStep<GatherStep>(node, environment);
}

Result<StepPointer> LowerGatherND(const NodeView& node, const Environment& environment) {
  return MakeStep<GatherNDStep>(node, environment);
}

}  // namespace skiff::xnnpack
