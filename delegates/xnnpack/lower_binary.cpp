// Binary operators with broadcasting. f32 arithmetic runs on kernels of ours, which clamp in the same pass
// and take views; the rest on XNNPACK, with the clamp as a second pass over the output.
#include "delegates/xnnpack/lowerings.h"
#include "delegates/xnnpack/nd_copy.h"
#include "delegates/xnnpack/operator.h"

namespace skiff::xnnpack {
namespace {

/// The axes of a broadcast from the innermost outwards, with neighbours merged where all three tensors allow
/// it.
class BroadcastAxes {
 public:
  struct Axis {
    int64_t extent = 1;
    int64_t a = 0;  ///< Distance in elements; 0 repeats.
    int64_t b = 0;
    int64_t y = 0;
  };

  BroadcastAxes(const TensorView& a, const TensorView& b, const TensorView& y) {
    int64_t strides[3][kMaxRank];
    const TensorView* views[3] = {&a, &b, &y};
    for (int t = 0; t < 3; ++t) StridesOf(*views[t], strides[t]);
    for (int i = 1; i <= y.shape.rank(); ++i) {
      int64_t distance[3];
      for (int t = 0; t < 3; ++t) {
        const int axis = views[t]->shape.rank() - i;
        distance[t] = axis < 0 || views[t]->shape[axis] == 1 ? 0 : strides[t][axis];
      }
      Add({y.shape[y.shape.rank() - i], distance[0], distance[1], distance[2]});
    }
    if (count_ == 0) axes_[count_++] = {1, 1, 1, 1};
  }

  int count() const { return count_; }
  const Axis& operator[](int i) const { return axes_[i]; }

 private:
  void Add(const Axis& axis) {
    if (axis.extent == 1) return;
    if (count_ > 0) {
      Axis& inner = axes_[count_ - 1];
      if (axis.a == inner.a * inner.extent && axis.b == inner.b * inner.extent &&
          axis.y == inner.y * inner.extent) {
        inner.extent *= axis.extent;
        return;
      }
    }
    axes_[count_++] = axis;
  }

  Axis axes_[kMaxRank];
  int count_ = 0;
};

struct OpRow {
  OpCode op;
  BinaryKernel kernel;
  xnn_binary_operator type;
};

constexpr OpRow kArithmetic[] = {
    {OpCode::kAdd, BinaryKernel::kAdd, xnn_binary_add},
    {OpCode::kSub, BinaryKernel::kSub, xnn_binary_subtract},
    {OpCode::kMul, BinaryKernel::kMul, xnn_binary_multiply},
    {OpCode::kDiv, BinaryKernel::kDiv, xnn_binary_divide},
};

class KernelBinaryStep final : public Step {
 public:
  KernelBinaryStep(const NodeView& node, const Environment& environment, BinaryKernel kernel)
      : Step(node, environment), kernel_(kernel) {
    params_.min = node.As<ClampAttrs>().min;
    params_.max = node.As<ClampAttrs>().max;
  }

  Status Reshape() override {
    const BroadcastAxes axes(node_.in(0), node_.in(1), node_.out(0));
    // The kernels read neighbours or one value; anything else is done one element at a time.
    const bool has_run = axes[0].a <= 1 && axes[0].b <= 1 && axes[0].y == 1;
    run_ = has_run ? axes[0] : BroadcastAxes::Axis{1, 1, 1, 1};
    const int form = run_.a == 0 ? 1 : (run_.b == 0 ? 2 : 0);
    function_ = environment_.kernels->binary[static_cast<size_t>(kernel_)][form];
    outer_count_ = 0;
    outer_total_ = 1;
    for (int i = has_run ? 1 : 0; i < axes.count(); ++i) {
      outer_total_ *= static_cast<size_t>(axes[i].extent);
      outer_[outer_count_++] = axes[i];
    }
    return OkStatus();
  }

  Status Bind(void*) override {
    a_ = node_.in(0).as<const float>();
    b_ = node_.in(1).as<const float>();
    y_ = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    const auto run = static_cast<size_t>(run_.extent);
    if (outer_total_ == 1) {
      pthreadpool_parallelize_1d_tile_1d(
          environment_.pool,
          [](void* self, size_t begin, size_t count) {
            const auto* s = static_cast<const KernelBinaryStep*>(self);
            const auto first = static_cast<int64_t>(begin);
            s->function_(count, s->a_ + first * s->run_.a, s->b_ + first * s->run_.b, s->y_ + first,
                         s->params_);
          },
          this, run, environment_.pool == nullptr ? run : kBlock, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
      return OkStatus();
    }
    const size_t rows = environment_.pool == nullptr ? outer_total_ : (kBlock + run - 1) / run;
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          static_cast<const KernelBinaryStep*>(self)->RunRows(begin, count);
        },
        this, outer_total_, rows, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 8192;

  void RunRows(size_t begin, size_t count) const {
    // The position of the first row; from there on the odometer turns.
    int64_t position[kMaxRank] = {};
    int64_t a = 0;
    int64_t b = 0;
    int64_t y = 0;
    auto rest = static_cast<int64_t>(begin);
    for (int i = 0; i < outer_count_; ++i) {
      position[i] = rest % outer_[i].extent;
      rest /= outer_[i].extent;
      a += position[i] * outer_[i].a;
      b += position[i] * outer_[i].b;
      y += position[i] * outer_[i].y;
    }
    const auto run = static_cast<size_t>(run_.extent);
    for (size_t row = 0; row < count; ++row) {
      function_(run, a_ + a, b_ + b, y_ + y, params_);
      for (int i = 0; i < outer_count_; ++i) {
        a += outer_[i].a;
        b += outer_[i].b;
        y += outer_[i].y;
        if (++position[i] < outer_[i].extent) break;
        position[i] = 0;
        a -= outer_[i].extent * outer_[i].a;
        b -= outer_[i].extent * outer_[i].b;
        y -= outer_[i].extent * outer_[i].y;
      }
    }
  }

  const BinaryKernel kernel_;
  KernelParams params_;
  BinaryFn function_ = nullptr;
  BroadcastAxes::Axis run_;
  BroadcastAxes::Axis outer_[kMaxRank];
  int outer_count_ = 0;
  size_t outer_total_ = 1;
  const float* a_ = nullptr;
  const float* b_ = nullptr;
  float* y_ = nullptr;
};

class XnnBinaryStep final : public Step {
 public:
  XnnBinaryStep(const NodeView& node, const Environment& environment, xnn_binary_operator type,
                const ClampAttrs& clamp)
      : Step(node, environment), type_(type), clamp_(clamp) {}

  Status Reshape() override {
    const TensorView& a = node_.in(0);
    const TensorView& b = node_.in(1);
    const TensorView& y = node_.out(0);
    if (!a.dense() || !b.dense() || !y.dense()) return Refuse();
    const xnn_datatype datatype = DatatypeOf(y.dtype);
    if (!operator_) {
      SKIFF_RETURN_IF_ERROR(FromXnn(xnn_create_binary_elementwise_nd(
          type_, datatype, nullptr, nullptr, nullptr, /*flags=*/0, operator_.Fresh())));
    }
    const BroadcastAxes axes(a, b, y);
    if (axes.count() > XNN_MAX_TENSOR_DIMS) return Refuse();
    size_t a_shape[XNN_MAX_TENSOR_DIMS];
    size_t b_shape[XNN_MAX_TENSOR_DIMS];
    const auto rank = static_cast<size_t>(axes.count());
    for (size_t i = 0; i < rank; ++i) {
      const BroadcastAxes::Axis& axis = axes[static_cast<int>(rank - 1 - i)];
      a_shape[i] = axis.a == 0 ? 1 : static_cast<size_t>(axis.extent);
      b_shape[i] = axis.b == 0 ? 1 : static_cast<size_t>(axis.extent);
    }
    SKIFF_RETURN_IF_ERROR(FromXnn(
        xnn_reshape_binary_elementwise_nd(operator_.get(), rank, a_shape, rank, b_shape, environment_.pool)));
    return ReshapeClamp(datatype, static_cast<size_t>(y.shape.elements()));
  }

  Status Bind(void*) override {
    void* y = node_.out(0).data;
    SKIFF_RETURN_IF_ERROR(
        FromXnn(xnn_setup_binary_elementwise_nd(operator_.get(), node_.in(0).data, node_.in(1).data, y)));
    return clamp_operator_ ? FromXnn(xnn_setup_unary_elementwise_nc(clamp_operator_.get(), y, y))
                           : OkStatus();
  }

  Status Run() override {
    SKIFF_RETURN_IF_ERROR(operator_.Run(environment_.pool));
    return clamp_operator_ ? clamp_operator_.Run(environment_.pool) : OkStatus();
  }

 private:
  Status ReshapeClamp(xnn_datatype datatype, size_t elements) {
    if (clamp_.min == -kInfinity && clamp_.max == kInfinity) return OkStatus();
    if (!clamp_operator_) {
      xnn_unary_params params{};
      params.clamp.min = clamp_.min;
      params.clamp.max = clamp_.max;
      SKIFF_RETURN_IF_ERROR(
          FromXnn(xnn_create_unary_elementwise_nc(xnn_unary_clamp, datatype, datatype, &params, nullptr,
                                                  nullptr, /*flags=*/0, clamp_operator_.Fresh())));
    }
    return FromXnn(xnn_reshape_unary_elementwise_nc(clamp_operator_.get(), 1, elements, elements, elements,
                                                    environment_.pool));
  }

  const xnn_binary_operator type_;
  const ClampAttrs clamp_;
  Operator operator_, clamp_operator_;
};

}  // namespace

Result<StepPointer> LowerBinary(const NodeView& node, const Environment& environment) {
  for (const OpRow& row : kArithmetic) {
    if (row.op != node.op()) continue;
    if (node.out(0).dtype == DType::kF32) {
      return MakeStep<KernelBinaryStep>(node, environment, row.kernel);
    }
    return MakeStep<XnnBinaryStep>(node, environment, row.type, node.As<ClampAttrs>());
  }
  const xnn_binary_operator type = node.op() == OpCode::kMin   ? xnn_binary_minimum
                                   : node.op() == OpCode::kMax ? xnn_binary_maximum
                                                               : xnn_binary_prelu;
  return MakeStep<XnnBinaryStep>(node, environment, type, ClampAttrs());
}

}  // namespace skiff::xnnpack
