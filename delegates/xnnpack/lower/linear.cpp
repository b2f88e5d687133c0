// Matrix products: with constant weights packed once and shared, or packed anew at each run.
#include <atomic>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/batches.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/matrix_product.h"
#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// XNNPACK takes a few rows of x at a time and reads all weights for each of them. More weights than an L2
/// cache holds are cut into blocks of outputs, which stay in the cache of a core for the next rows.
constexpr size_t kCutBytes = 2 * 1024 * 1024;
constexpr size_t kBlockBytes = 256 * 1024;
/// So few rows are one tile of any micro-kernel, and meet each weight once.
constexpr size_t kFewRows = 4;

/// Rows of x times constant weights.
class LinearStep final : public Step {
 public:
  LinearStep(const NodeView& node, const Environment& environment, const DenseLayer& layer)
      : Step(node, environment), provider_(environment.weights), layer_(layer) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Rows from = RowsOf(x);
    Rows to = RowsOf(node_.out(0));
    // A product with a vector drops the axis of its one output.
    const TensorView& w = node_.in(1);
    const auto outputs = static_cast<size_t>(w.shape.elements()) / from.length;
    if (to.length != outputs) {
      if (!node_.out(0).dense()) return Refuse();
      to = {from.count, outputs, outputs};
    }
    const size_t strides[2] = {from.stride, to.stride};
    if (blocks_.empty() || strides[0] != created_strides_[0] || strides[1] != created_strides_[1]) {
      // Once cut they stay so: weights are packed only once.
      if (blocks_.empty()) block_outputs_ = BlockOutputs(from, outputs);
      created_strides_[0] = 0;  // Of nothing, until all blocks are there.
      SKIFF_RETURN_IF_ERROR(blocks_.Allocate((outputs + block_outputs_ - 1) / block_outputs_));
      for (size_t i = 0; i < blocks_.size(); ++i)
        SKIFF_RETURN_IF_ERROR(Create(i, from.length, outputs, strides));
      created_strides_[0] = strides[0];
      created_strides_[1] = strides[1];
    }
    const auto reshape =
        IsF16(x.dtype) ? xnn_reshape_fully_connected_nc_f16 : xnn_reshape_fully_connected_nc_f32;
    for (const Operator& block : blocks_)
      SKIFF_RETURN_IF_ERROR(FromXnn(reshape(block.get(), from.count, PoolOfBlock())));
    return OkStatus();
  }

  Status Bind(void*) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      void* const to = At(y, i * block_outputs_);
      const xnn_operator_t block = blocks_[i].get();
      SKIFF_RETURN_IF_ERROR(FromXnn(
          IsF16(x.dtype)
              ? xnn_setup_fully_connected_nc_f16(block, x.data, to)
              : xnn_setup_fully_connected_nc_f32(block, x.as<const float>(), static_cast<float*>(to))));
    }
    return OkStatus();
  }

  Status Run() override {
    if (blocks_.size() == 1) return blocks_[0].Run(environment_.pool);
    failed_.store(false, std::memory_order_relaxed);
    pthreadpool_parallelize_1d(environment_.pool, &RunBlock, this, blocks_.size(), /*flags=*/0);
    return failed_.load(std::memory_order_relaxed) ? Status(StatusCode::kInternal) : OkStatus();
  }

 private:
  /// Threads share the blocks of a layer, not the work of a block: they wait for each other once.
  pthreadpool_t PoolOfBlock() const { return blocks_.size() == 1 ? environment_.pool : nullptr; }
  static void RunBlock(void* step, size_t block) {
    auto& self = *static_cast<LinearStep*>(step);
    if (!self.blocks_[block].Run(nullptr).ok()) self.failed_.store(true, std::memory_order_relaxed);
  }

  /// Of a block; a multiple of any micro-kernel's tile.
  size_t BlockOutputs(const Rows& from, size_t outputs) const {
    constexpr size_t kTile = 64;
    const size_t output_bytes = from.length * static_cast<size_t>(DTypeSize(node_.in(1).dtype));
    // Transposed weights of a block do not lie together.
    if (layer_.transposed || from.count <= kFewRows || outputs * output_bytes < kCutBytes) return outputs;
    const size_t tiles = kBlockBytes / (output_bytes * kTile);
    return tiles == 0 ? kTile : tiles * kTile;
  }

  static void* At(const TensorView& view, size_t element) {
    return static_cast<char*>(view.data) + element * static_cast<size_t>(DTypeSize(view.dtype));
  }

  Status Create(size_t block, size_t inputs, size_t all_outputs, const size_t (&strides)[2]) {
    const size_t first = block * block_outputs_;
    const size_t outputs = all_outputs - first < block_outputs_ ? all_outputs - first : block_outputs_;
    const TensorView& w = node_.in(1);
    const void* weights = At(w, first * inputs);
    const bool has_bias = node_.Has(2);
    const void* bias = has_bias ? At(node_.in(2), first) : nullptr;
    const uint32_t flags = layer_.transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0;
    PackingKey key;
    key.kind = PackingKind::kLinear;
    key.dtype = w.dtype;
    key.has_bias = has_bias;
    key.flags = flags;
    key.weights = node_.input(1).hash;
    if (has_bias) key.bias = node_.input(2).hash;
    key.parameters[0] = inputs;
    key.parameters[1] = outputs;
    key.parameters[2] = first;
    const PackedExtents extents{inputs, outputs};
    return provider_.Make(blocks_[block], key, extents, [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
      if (IsF16(w.dtype)) {
        return xnn_create_fully_connected_nc_f16(inputs, outputs, strides[0], strides[1], weights, bias,
                                                 layer_.min, layer_.max, flags, nullptr, cache, made);
      }
      return xnn_create_fully_connected_nc_f32(
          inputs, outputs, strides[0], strides[1], static_cast<const float*>(weights),
          static_cast<const float*>(bias), layer_.min, layer_.max, flags, nullptr, cache, made);
    });
  }

  WeightsProvider provider_;  // Before the operators, which use it as long as they live.
  FixedArray<Operator> blocks_;
  size_t block_outputs_ = 0;
  std::atomic<bool> failed_{false};
  const DenseLayer layer_;
  size_t created_strides_[2] = {};
};

/// FullyConnected whose weights are computed.
class DynamicLinearStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& w = node_.in(1);
    if (!w.dense()) return Refuse();
    const bool f16 = IsF16(x.dtype);
    if (!operator_) {
      const auto& attrs = node_.As<ClampAttrs>();
      const auto create =
          f16 ? xnn_create_dynamic_fully_connected_nc_f16 : xnn_create_dynamic_fully_connected_nc_f32;
      SKIFF_RETURN_IF_ERROR(operator_.Make(
          [&](xnn_operator_t* made) { return create(attrs.min, attrs.max, /*flags=*/0, made); }));
    }
    const auto reshape =
        f16 ? xnn_reshape_dynamic_fully_connected_nc_f16 : xnn_reshape_dynamic_fully_connected_nc_f32;
    const Rows from = RowsOf(x);
    const Rows to = RowsOf(node_.out(0));
    if (!PackedExtents{from.length, to.length}.Fit()) return Refuse();
    size_t alignment = 0;
    workspace_bytes_ = 0;
    return FromXnn(reshape(operator_.get(), from.count, from.length, to.length, from.stride, to.stride,
                           &workspace_bytes_, &alignment, environment_.pool));
  }

  Status Bind(void* workspace) override {
    const TensorView& x = node_.in(0);
    const TensorView& w = node_.in(1);
    const TensorView& y = node_.out(0);
    const void* bias = node_.Has(2) ? node_.in(2).data : nullptr;
    if (IsF16(x.dtype)) {
      return FromXnn(
          xnn_setup_dynamic_fully_connected_nc_f16(operator_.get(), workspace, x.data, w.data, bias, y.data));
    }
    return FromXnn(xnn_setup_dynamic_fully_connected_nc_f32(operator_.get(), workspace, x.as<const float>(),
                                                            w.as<const float>(),
                                                            static_cast<const float*>(bias), y.as<float>()));
  }
};

class MatMulStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const auto& attrs = node_.As<MatMulAttrs>();
    const TensorView& a = node_.in(0);
    const TensorView& b = node_.in(1);
    const TensorView& y = node_.out(0);
    if (!a.dense() || !b.dense() || !y.dense()) return Refuse();
    const bool f16 = IsF16(a.dtype);
    BatchShape shape;
    if (!DescribeBatches(a.shape, b.shape, attrs.transpose_b, &shape)) return Refuse();
    size_t matrices = 1;
    for (size_t i = 0; i < shape.rank; ++i) matrices *= shape.b[i];
    if (!PackedExtents{shape.k, shape.n, 1, matrices}.Fit()) return Refuse();
    SKIFF_RETURN_IF_ERROR(Create(shape, f16));
    const auto reshape =
        f16 ? xnn_reshape_batch_matrix_multiply_nc_f16 : xnn_reshape_batch_matrix_multiply_nc_f32;
    size_t alignment = 0;
    workspace_bytes_ = 0;
    SKIFF_RETURN_IF_ERROR(FromXnn(reshape(operator_.get(), shape.rank, shape.a, shape.b, shape.m, shape.k,
                                          shape.n, &workspace_bytes_, &alignment, environment_.pool)));
    return ReshapeClamp(attrs, static_cast<size_t>(y.shape.elements()), f16);
  }

  Status Bind(void* workspace) override {
    const TensorView& a = node_.in(0);
    const TensorView& b = node_.in(1);
    const TensorView& y = node_.out(0);
    if (IsF16(a.dtype)) {
      SKIFF_RETURN_IF_ERROR(FromXnn(
          xnn_setup_batch_matrix_multiply_nc_f16(operator_.get(), workspace, a.data, b.data, y.data)));
    } else {
      SKIFF_RETURN_IF_ERROR(FromXnn(xnn_setup_batch_matrix_multiply_nc_f32(
          operator_.get(), workspace, a.as<const float>(), b.as<const float>(), y.as<float>())));
    }
    if (!kHasF16 || !clamp_) return OkStatus();
    return FromXnn(xnn_setup_unary_elementwise_nc(clamp_.get(), y.data, y.data));
  }

  Status Run() override {
    SKIFF_RETURN_IF_ERROR(operator_.Run(environment_.pool));
    if (clamp_) return clamp_.Run(environment_.pool);
    if (clamped_elements_ == 0) return OkStatus();
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          const auto* s = static_cast<const MatMulStep*>(self);
          float* y = s->node_.out(0).as<float>() + begin;
          s->environment_.kernels->unary[static_cast<size_t>(UnaryKernel::kClamp)](count, y, y, s->params_);
        },
        this, clamped_elements_, /*tile=*/8192, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  Status Create(const BatchShape& shape, bool f16) {
    if (operator_) return OkStatus();
    const PlanTensor& b = node_.input(1);
    const bool transposed = node_.As<MatMulAttrs>().transpose_b || b.view.shape.rank() == 1;
    const uint32_t flags = transposed ? XNN_FLAG_TRANSPOSE_B : 0;
    size_t batches = 1;
    for (size_t i = 0; i < shape.rank; ++i) batches *= shape.b[i];
    return operator_.Make([&](xnn_operator_t* made) {
      if (f16) return xnn_create_batch_matrix_multiply_nc_f16(flags, made);
      if (!b.constant) return xnn_create_batch_matrix_multiply_nc_f32(flags, made);
      // XNNPACK takes no weights cache here: each Session packs its own copy, once.
      return xnn_create_batch_matrix_multiply_nc_f32_const_weights(batches, shape.k, shape.n,
                                                                   b.view.as<const float>(), flags, made);
    });
  }

  /// f32 is clamped by the kernel of ours, f16 by XNNPACK's.
  Status ReshapeClamp(const MatMulAttrs& attrs, size_t elements, bool f16) {
    clamped_elements_ = 0;
    if (attrs.min == -kInfinity && attrs.max == kInfinity) return OkStatus();
    if (!f16) {
      params_.min = attrs.min;
      params_.max = attrs.max;
      clamped_elements_ = elements;
      return OkStatus();
    }
    if (!clamp_) {
      xnn_unary_params params{};
      params.clamp.min = attrs.min;
      params.clamp.max = attrs.max;
      SKIFF_RETURN_IF_ERROR(clamp_.Make([&](xnn_operator_t* made) {
        return xnn_create_unary_elementwise_nc(xnn_unary_clamp, xnn_datatype_fp16, xnn_datatype_fp16, &params,
                                               nullptr, nullptr, /*flags=*/0, made);
      }));
    }
    return FromXnn(
        xnn_reshape_unary_elementwise_nc(clamp_.get(), 1, elements, elements, elements, environment_.pool));
  }

  KernelParams params_;
  size_t clamped_elements_ = 0;  ///< Of an f32 result with bounds.
  Operator operator_, clamp_;
};

Result<StepPointer> LowerConstantWeights(const NodeView& node, const Environment& environment,
                                         const DenseLayer& layer) {
  if (kHasOwnKernels && RunsDense(node, environment)) return LowerDense(node, environment, layer);
  return MakeStep<LinearStep>(node, environment, layer);
}

}  // namespace

Result<StepPointer> LowerFullyConnected(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<ClampAttrs>();
  const bool constant = node.input(1).constant && (!node.Has(2) || node.input(2).constant);
  if (!constant) return MakeStep<DynamicLinearStep>(node, environment);
  if (kHasRowCodes && RunsOnRowCodes(node, environment)) return LowerRowCodes(node, environment);
  if (kHasFewBits && RunsFewBits(node, environment))
    return LowerFewBits(node, environment, attrs.min, attrs.max);
  return LowerConstantWeights(node, environment, {attrs.min, attrs.max, /*transposed=*/false});
}

Result<StepPointer> LowerMatMul(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<MatMulAttrs>();
  const PlanTensor& b = node.input(1);
  if (!b.constant && kHasOwnKernels && RunsDense(node, environment))
    return MakeStep<MatrixProductStep>(node, environment);
  if (!b.constant || b.view.shape.rank() > 2) return MakeStep<MatMulStep>(node, environment);
  const bool transposed = b.view.shape.rank() == 2 && !attrs.transpose_b;
  return LowerConstantWeights(node, environment, {attrs.min, attrs.max, transposed});
}

}  // namespace skiff::xnnpack
