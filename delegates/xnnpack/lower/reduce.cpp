// Softmax, layer normalisation, sums and means.
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/reduction_extents.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Of a row: kernels for Arm cores with arithmetic on f16 add in f16, in 32 sums and more side by side.
constexpr size_t kMostHalves = 4096;

class XnnpackSoftmaxStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const bool f16 = IsF16(node_.in(0).dtype);
    const Rows from = RowsOf(node_.in(0));
    if (f16 && !kHasOwnKernels && from.length > kMostHalves) return Refuse();
    if (!operator_) {
      const auto create = f16 ? xnn_create_softmax_nc_f16 : xnn_create_softmax_nc_f32;
      SKIFF_RETURN_IF_ERROR(operator_.Make([&](xnn_operator_t* made) { return create(/*flags=*/0, made); }));
    }
    const Rows to = RowsOf(node_.out(0));
    const auto reshape = f16 ? xnn_reshape_softmax_nc_f16 : xnn_reshape_softmax_nc_f32;
    return FromXnn(
        reshape(operator_.get(), from.length, from.stride, to.stride, from.count, environment_.pool));
  }

  Status Bind(void*) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (IsF16(x.dtype)) return FromXnn(xnn_setup_softmax_nc_f16(operator_.get(), x.data, y.data));
    return FromXnn(xnn_setup_softmax_nc_f32(operator_.get(), x.as<const float>(), y.as<float>()));
  }
};

class LayerNormStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    const auto& attrs = node_.As<NormAttrs>();
    const int axis = NormalizeAxis(attrs.axis, x.shape.rank());
    if (axis < 0) return Refuse();
    epsilon_ = attrs.epsilon;
    from_ = RowsOf(x);
    to_ = RowsOf(y);
    if (axis == x.shape.rank() - 1) return OkStatus();
    if (!x.dense() || !y.dense()) return Refuse();
    for (size_t i = 1; i <= 2; ++i) {
      if (node_.Has(i) && !node_.in(i).dense()) return Refuse();
    }
    const auto length = static_cast<size_t>(x.shape.ElementsBetween(axis, x.shape.rank()));
    from_ = to_ = {static_cast<size_t>(x.shape.ElementsBetween(0, axis)), length, length};
    return OkStatus();
  }

  Status Bind(void*) override {
    const auto optional = [&](size_t i) -> const void* { return node_.Has(i) ? node_.in(i).data : nullptr; };
    const bool f16 = IsF16(node_.in(0).dtype);
    kernel_ = f16 ? environment_.kernels->layer_norm_half : environment_.kernels->layer_norm;
    bytes_ = ElementBytes(node_.in(0));
    x_ = node_.in(0).as<const char>();
    scale_ = optional(1);
    bias_ = optional(2);
    y_ = node_.out(0).as<char>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d(
        environment_.pool,
        [](void* self, size_t row) {
          const auto* s = static_cast<const LayerNormStep*>(self);
          s->kernel_(s->from_.length, s->x_ + row * s->from_.stride * s->bytes_, s->scale_, s->bias_,
                     s->epsilon_, s->y_ + row * s->to_.stride * s->bytes_);
        },
        this, from_.count, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  LayerNormFn kernel_ = nullptr;
  size_t bytes_ = 0;
  Rows from_, to_;
  float epsilon_ = 0;
  const char* x_ = nullptr;
  const void* scale_ = nullptr;
  const void* bias_ = nullptr;
  char* y_ = nullptr;
};

/// Columns of many rows in blocks, whose sums are added up: XNNPACK adds one row to the next, so that
/// rounding grows with their number (512 rows of one sign: 48 units in the last place, this way 5).
class LongColumns {
 public:
  /// Whether the axes are such columns; otherwise XNNPACK's operator is as good.
  bool Reshape(const TensorView& x, uint32_t mask) {
    return extents_.Set(x.shape, mask) && extents_.inner > 1 && rows() >= kMany;
  }
  size_t rows() const { return extents_.reduced; }
  /// Of one block for each column.
  size_t workspace_bytes() const { return extents_.outer * extents_.inner * sizeof(float); }

  void Run(ReduceRowsFn add_rows, float factor, const float* x, float* blocks, float* y, pthreadpool_t pool) {
    add_rows_ = add_rows;
    factor_ = factor;
    x_ = x;
    blocks_ = blocks;
    y_ = y;
    pthreadpool_parallelize_2d_tile_1d(
        pool,
        [](void* self, size_t outer, size_t begin, size_t count) {
          static_cast<const LongColumns*>(self)->Add(outer, begin, count);
        },
        this, extents_.outer, extents_.inner, kTile, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  }

 private:
  static constexpr size_t kMany = 128;
  static constexpr size_t kRows = 32;
  static constexpr size_t kTile = 1024;

  void Add(size_t outer, size_t begin, size_t count) const {
    const size_t columns = extents_.inner;
    const float* from = x_ + outer * rows() * columns + begin;
    float* block = blocks_ + outer * columns + begin;
    float* to = y_ + outer * columns + begin;
    add_rows_(kRows, columns, count, from, to);
    for (size_t row = kRows; row < rows(); row += kRows) {
      add_rows_(rows() - row < kRows ? rows() - row : kRows, columns, count, from + row * columns, block);
      for (size_t i = 0; i < count; ++i) to[i] += block[i];
    }
    for (size_t i = 0; i < count; ++i) to[i] *= factor_;
  }

  ReductionExtents extents_;
  ReduceRowsFn add_rows_ = nullptr;
  float factor_ = 1;
  const float* x_ = nullptr;
  float* blocks_ = nullptr;
  float* y_ = nullptr;
};

class ReduceStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    uint32_t mask = 0;
    if (!ReducedAxes(node_.As<ReduceAttrs>(), x.shape.rank(), &mask) || mask == 0) return Refuse();
    if (!x.dense() || !node_.out(0).dense()) return Refuse();
    add_rows_ = environment_.kernels->reduce_rows[static_cast<size_t>(ReduceKernel::kSum)];
    in_columns_ = add_rows_ != nullptr && !IsF16(x.dtype) && columns_.Reshape(x, mask);
    if (in_columns_) {
      workspace_bytes_ = columns_.workspace_bytes();
      return OkStatus();
    }
    if (!operator_) {
      const xnn_reduce_operator type = node_.op() == OpCode::kReduceSum ? xnn_reduce_sum : xnn_reduce_mean;
      SKIFF_RETURN_IF_ERROR(operator_.Make([&](xnn_operator_t* made) {
        return xnn_create_reduce_nd(type, DatatypeOf(x.dtype), nullptr, nullptr, /*flags=*/0, made);
      }));
    }
    // Axes of extent 1 are left out: XNNPACK allows six.
    size_t shape[XNN_MAX_TENSOR_DIMS];
    int64_t axes[XNN_MAX_TENSOR_DIMS];
    size_t rank = 0;
    size_t reduced = 0;
    for (int i = 0; i < x.shape.rank(); ++i) {
      if (x.shape[i] == 1) continue;
      if (rank == XNN_MAX_TENSOR_DIMS) return Refuse();
      if (((mask >> i) & 1u) != 0) axes[reduced++] = static_cast<int64_t>(rank);
      shape[rank++] = static_cast<size_t>(x.shape[i]);
    }
    if (reduced == 0) {  // All reduced axes had extent 1: reduce one more of them.
      if (rank == XNN_MAX_TENSOR_DIMS) return Refuse();
      for (size_t i = rank++; i > 0; --i) shape[i] = shape[i - 1];
      shape[0] = 1;
      axes[reduced++] = 0;
    }
    size_t alignment = 0;
    size_t bytes = 0;
    SKIFF_RETURN_IF_ERROR(FromXnn(xnn_reshape_reduce_nd(operator_.get(), reduced, axes, rank, shape, &bytes,
                                                        &alignment, environment_.pool)));
    // f32 sums into the output itself, and would leave the sums in a workspace that it was given.
    workspace_bytes_ = IsF16(x.dtype) ? bytes : 0;
    return OkStatus();
  }

  Status Bind(void* workspace) override {
    blocks_ = static_cast<float*>(workspace);
    if (in_columns_) return OkStatus();
    return FromXnn(xnn_setup_reduce_nd(operator_.get(), workspace_bytes_ == 0 ? nullptr : workspace,
                                       node_.in(0).data, node_.out(0).data));
  }

  Status Run() override {
    if (!in_columns_) return operator_.Run(environment_.pool);
    const float factor = node_.op() == OpCode::kReduceMean ? 1 / static_cast<float>(columns_.rows()) : 1;
    columns_.Run(add_rows_, factor, node_.in(0).as<const float>(), blocks_, node_.out(0).as<float>(),
                 environment_.pool);
    return OkStatus();
  }

 private:
  Operator operator_;
  LongColumns columns_;
  ReduceRowsFn add_rows_ = nullptr;
  bool in_columns_ = false;
  float* blocks_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerXnnpackSoftmax(const NodeView& node, const Environment& environment) {
  return MakeStep<XnnpackSoftmaxStep>(node, environment);
}

Result<StepPointer> LowerLayerNorm(const NodeView& node, const Environment& environment) {
  return MakeStep<LayerNormStep>(node, environment);
}

Result<StepPointer> LowerReduce(const NodeView& node, const Environment& environment) {
  return MakeStep<ReduceStep>(node, environment);
}

}  // namespace skiff::xnnpack
