// Extrema, products, their positions and softmax along rows, on kernels of ours.
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/reduction_extents.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

struct ReduceRow {
  OpCode op;
  ReduceKernel kernel;
};

constexpr ReduceRow kReductions[] = {
    {OpCode::kReduceMax, ReduceKernel::kMax},   {OpCode::kReduceMin, ReduceKernel::kMin},
    {OpCode::kReduceProd, ReduceKernel::kProd}, {OpCode::kArgMax, ReduceKernel::kMax},
    {OpCode::kArgMin, ReduceKernel::kMin},
};

ReduceKernel KernelOf(OpCode op) {
  for (const ReduceRow& row : kReductions) {
    if (row.op == op) return row.kernel;
  }
  return ReduceKernel::kMax;
}

/// The input as [outer, reduced, inner].
class ExtremumStep final : public Step {
 public:
  ExtremumStep(const NodeView& node, const Environment& environment, ReduceKernel kernel)
      : Step(node, environment),
        reduce_row_(environment.kernels->reduce_row[static_cast<size_t>(kernel)]),
        reduce_rows_(environment.kernels->reduce_rows[static_cast<size_t>(kernel)]) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    uint32_t mask = 0;
    if (!ReducedAxes(node_.As<ReduceAttrs>(), x.shape.rank(), &mask) || mask == 0) return Refuse();
    if (!x.dense() || !node_.out(0).dense()) return Refuse();
    return extents_.Set(x.shape, mask) ? OkStatus() : Refuse();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const float>();
    y_ = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    // Blocks of columns stay in the first-level cache while all rows go by.
    pthreadpool_parallelize_2d_tile_1d(
        environment_.pool,
        [](void* self, size_t outer, size_t begin, size_t count) {
          const auto* s = static_cast<const ExtremumStep*>(self);
          const size_t reduced = s->extents_.reduced;
          const size_t inner = s->extents_.inner;
          const float* x = s->x_ + outer * reduced * inner + begin;
          float* y = s->y_ + outer * inner + begin;
          if (inner == 1) {
            *y = s->reduce_row_(reduced, x);
          } else {
            s->reduce_rows_(reduced, inner, count, x, y);
          }
        },
        this, extents_.outer, extents_.inner, kBlock, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 1024;

  const ReduceRowFn reduce_row_;
  const ReduceRowsFn reduce_rows_;
  ReductionExtents extents_;
  const float* x_ = nullptr;
  float* y_ = nullptr;
};

/// Rows of the input, one task each.
class RowsStep : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    from_ = RowsOf(node_.in(0));
    to_ = RowsOf(node_.out(0));
    return OkStatus();
  }
  Status Bind(void*) final { return OkStatus(); }
  Status Run() final {
    pthreadpool_parallelize_1d(
        environment_.pool,
        [](void* self, size_t row) { static_cast<const RowsStep*>(self)->ComputeRow(row); }, this,
        from_.count, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 protected:
  virtual void ComputeRow(size_t row) const = 0;
  const float* RowOf(size_t row) const { return node_.in(0).as<const float>() + row * from_.stride; }

  Rows from_, to_;
};

/// The extremum first, then the first or last place where it is. Where neighbours belong to other rows, all
/// of a block at once.
class ArgStep final : public Step {
 public:
  ArgStep(const NodeView& node, const Environment& environment, ReduceKernel kernel)
      : Step(node, environment),
        reduce_row_(environment.kernels->reduce_row[static_cast<size_t>(kernel)]),
        select_last_(node.As<ArgAttrs>().select_last),
        columns_(kArgColumnsKernels[node.op() == OpCode::kArgMax ? 1 : 0][select_last_ ? 1 : 0]) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const int axis = NormalizeAxis(node_.As<ArgAttrs>().axis, x.shape.rank());
    if (axis < 0 || !node_.out(0).dense()) return Refuse();
    extent_ = static_cast<size_t>(x.shape[axis]);
    outer_ = static_cast<size_t>(x.shape.ElementsBetween(0, axis));
    inner_ = static_cast<size_t>(x.shape.ElementsBetween(axis + 1, x.shape.rank()));
    stride_ = axis == x.shape.rank() - 1 ? RowsOf(x).stride : extent_ * inner_;
    return axis == x.shape.rank() - 1 || x.dense() ? OkStatus() : Refuse();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    pthreadpool_parallelize_2d_tile_1d(
        environment_.pool,
        [](void* self, size_t outer, size_t begin, size_t count) {
          const auto* s = static_cast<const ArgStep*>(self);
          const float* x = s->node_.in(0).as<const float>() + outer * s->stride_ + begin;
          int64_t* y = s->node_.out(0).as<int64_t>() + outer * s->inner_ + begin;
          if (s->inner_ == 1) {
            *y = s->Find(x);
          } else {
            float best[kBlock];
            s->columns_(s->extent_, s->inner_, count, x, best, y);
          }
        },
        this, outer_, inner_, kBlock, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 512;

  int64_t Find(const float* x) const {
    const float best = reduce_row_(extent_, x);
    const auto is_best = [&](float value) { return best == best ? value == best : value != value; };
    size_t i = select_last_ ? extent_ - 1 : 0;
    while (!is_best(x[i])) select_last_ ? --i : ++i;
    return static_cast<int64_t>(i);
  }

  const ReduceRowFn reduce_row_;
  const bool select_last_;
  const ArgColumnsFn columns_;
  size_t outer_ = 1;
  size_t extent_ = 1;
  size_t inner_ = 1;
  size_t stride_ = 1;  ///< Elements from one index of the outer axes to the next.
};

class SoftmaxStep final : public RowsStep {
 public:
  SoftmaxStep(const NodeView& node, const Environment& environment, SoftmaxFn kernel)
      : RowsStep(node, environment), kernel_(kernel) {
    if (kHasOwnKernels) work_ = &kWork;
  }

 private:
  static void ChangeRows(const Step& step, size_t, size_t rows, float* rows_at) {
    const auto& self = static_cast<const SoftmaxStep&>(step);
    const size_t length = self.from_.length;
    for (; rows > 0; --rows, rows_at += length) self.kernel_(length, rows_at, rows_at);
  }
  static constexpr PartialWork kWork = {.change_rows = &ChangeRows};

  void ComputeRow(size_t row) const override {
    kernel_(from_.length, RowOf(row), node_.out(0).as<float>() + row * to_.stride);
  }

  const SoftmaxFn kernel_;
};

/// Along another axis than the last one: the input as [outer, extent, inner].
class SoftmaxColumnsStep final : public Step {
 public:
  SoftmaxColumnsStep(const NodeView& node, const Environment& environment, SoftmaxColumnsFn kernel)
      : Step(node, environment), kernel_(kernel) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const int axis = NormalizeAxis(node_.As<AxisAttrs>().axis, x.shape.rank());
    if (axis < 0 || !x.dense() || !node_.out(0).dense()) return Refuse();
    extent_ = static_cast<size_t>(x.shape[axis]);
    outer_ = static_cast<size_t>(x.shape.ElementsBetween(0, axis));
    inner_ = static_cast<size_t>(x.shape.ElementsBetween(axis + 1, x.shape.rank()));
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    pthreadpool_parallelize_2d_tile_1d(
        environment_.pool,
        [](void* self, size_t outer, size_t begin, size_t count) {
          const auto* s = static_cast<const SoftmaxColumnsStep*>(self);
          const size_t at = outer * s->extent_ * s->inner_ + begin;
          s->kernel_(s->extent_, s->inner_, count, s->node_.in(0).as<const float>() + at,
                     s->node_.out(0).as<float>() + at);
        },
        this, outer_, inner_, kSoftmaxColumns, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  const SoftmaxColumnsFn kernel_;
  size_t outer_ = 1;
  size_t extent_ = 1;
  size_t inner_ = 1;
};

bool IsAlongRows(const NodeView& node) {
  const int rank = node.in(0).shape.rank();
  return NormalizeAxis(node.As<AxisAttrs>().axis, rank) == rank - 1;
}

}  // namespace

Result<StepPointer> LowerExtremum(const NodeView& node, const Environment& environment) {
  return MakeStep<ExtremumStep>(node, environment, KernelOf(node.op()));
}

Result<StepPointer> LowerArg(const NodeView& node, const Environment& environment) {
  return MakeStep<ArgStep>(node, environment, KernelOf(node.op()));
}

Result<StepPointer> LowerSoftmax(const NodeView& node, const Environment& environment) {
  if (!IsAlongRows(node))
    return MakeStep<SoftmaxColumnsStep>(node, environment, environment.kernels->softmax_columns);
  const SoftmaxFn kernel = environment.kernels->softmax;
  if (kernel == nullptr || IsF16(node.in(0).dtype)) return LowerXnnpackSoftmax(node, environment);
  return MakeStep<SoftmaxStep>(node, environment, kernel);
}

Result<StepPointer> LowerLogSoftmax(const NodeView& node, const Environment& environment) {
  if (!IsAlongRows(node))
    return MakeStep<SoftmaxColumnsStep>(node, environment, environment.kernels->log_softmax_columns);
  return MakeStep<SoftmaxStep>(node, environment, environment.kernels->log_softmax);
}

}  // namespace skiff::xnnpack
