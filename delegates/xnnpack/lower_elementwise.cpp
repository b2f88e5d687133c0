// Unary operators and casts. Rows of a view may lie apart on both sides.
#include "delegates/xnnpack/lowerings.h"
#include "delegates/xnnpack/operator.h"

namespace skiff::xnnpack {
namespace {

/// A kernel of ours over rows.
class KernelUnaryStep final : public Step {
 public:
  KernelUnaryStep(const NodeView& node, const Environment& environment, UnaryKernel kernel,
                  const KernelParams& params)
      : Step(node, environment),
        kernel_(environment.kernels->unary[static_cast<size_t>(kernel)]),
        params_(params) {}

  Status Reshape() override {
    from_ = RowsOf(node_.in(0));
    to_ = RowsOf(node_.out(0));
    if (from_.stride == from_.length && to_.stride == to_.length)
      from_ = to_ = {1, from_.count * from_.length, 0};
    return OkStatus();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const float>();
    y_ = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    if (from_.count == 1) {
      // One long run: threads take blocks of it.
      pthreadpool_parallelize_1d_tile_1d(
          environment_.pool,
          [](void* self, size_t begin, size_t count) {
            const auto* s = static_cast<const KernelUnaryStep*>(self);
            s->kernel_(count, s->x_ + begin, s->y_ + begin, s->params_);
          },
          this, from_.length, environment_.pool == nullptr ? from_.length : kBlock,
          PTHREADPOOL_FLAG_DISABLE_DENORMALS);
      return OkStatus();
    }
    pthreadpool_parallelize_1d(
        environment_.pool,
        [](void* self, size_t row) {
          const auto* s = static_cast<const KernelUnaryStep*>(self);
          s->kernel_(s->from_.length, s->x_ + row * s->from_.stride, s->y_ + row * s->to_.stride, s->params_);
        },
        this, from_.count, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 8192;

  const UnaryFn kernel_;
  const KernelParams params_;
  Rows from_, to_;
  const float* x_ = nullptr;
  float* y_ = nullptr;
};

class XnnUnaryStep final : public OperatorStep {
 public:
  XnnUnaryStep(const NodeView& node, const Environment& environment, xnn_unary_operator type,
               const xnn_unary_params& params)
      : OperatorStep(node, environment), type_(type), params_(params) {}

  Status Reshape() override {
    if (!operator_) {
      SKIFF_RETURN_IF_ERROR(FromXnn(xnn_create_unary_elementwise_nc(
          type_, DatatypeOf(node_.in(0).dtype), DatatypeOf(node_.out(0).dtype), &params_, nullptr, nullptr,
          /*flags=*/0, operator_.Fresh())));
    }
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    return FromXnn(xnn_reshape_unary_elementwise_nc(operator_.get(), from.count, from.length, from.stride,
                                                    to.stride, environment_.pool));
  }

  Status Bind(void*) override {
    return FromXnn(xnn_setup_unary_elementwise_nc(operator_.get(), node_.in(0).data, node_.out(0).data));
  }

 private:
  const xnn_unary_operator type_;
  const xnn_unary_params params_;
};

struct XnnRow {
  OpCode op;
  xnn_unary_operator type;
};

/// Where both tables have an operator, ours serves f32: XNNPACK's square root of infinity and sigmoid of 1e30
/// are NaN (AVX-512), and its logarithm is inexact near 1.
constexpr XnnRow kXnnRows[] = {
    {OpCode::kAbs, xnn_unary_abs},
    {OpCode::kNeg, xnn_unary_negate},
    {OpCode::kSqrt, xnn_unary_square_root},
    {OpCode::kSigmoid, xnn_unary_sigmoid},
    {OpCode::kTanh, xnn_unary_tanh},
    {OpCode::kFloor, xnn_unary_floor},
    {OpCode::kCeil, xnn_unary_ceiling},
    {OpCode::kRound, xnn_unary_bankers_rounding},
    {OpCode::kHardSwish, xnn_unary_hardswish},
    {OpCode::kGelu, xnn_unary_gelu},
    {OpCode::kClamp, xnn_unary_clamp},
    {OpCode::kLeakyRelu, xnn_unary_leaky_relu},
    {OpCode::kElu, xnn_unary_elu},
};

struct KernelRow {
  OpCode op;
  UnaryKernel kernel;
};

constexpr KernelRow kKernelRows[] = {
    {OpCode::kErf, UnaryKernel::kErf},
    {OpCode::kExp, UnaryKernel::kExp},
    {OpCode::kHardSigmoid, UnaryKernel::kHardSigmoid},
    {OpCode::kLog, UnaryKernel::kLog},
    {OpCode::kReciprocal, UnaryKernel::kReciprocal},
    {OpCode::kSigmoid, UnaryKernel::kSigmoid},
    {OpCode::kSign, UnaryKernel::kSign},
    {OpCode::kSilu, UnaryKernel::kSilu},
    {OpCode::kSqrt, UnaryKernel::kSqrt},
};

KernelParams KernelParamsOf(const NodeView& node) {
  KernelParams params;
  if (node.op() == OpCode::kHardSigmoid) {
    params.alpha = node.As<HardSigmoidAttrs>().alpha;
    params.beta = node.As<HardSigmoidAttrs>().beta;
  }
  return params;
}

xnn_unary_params XnnParamsOf(const NodeView& node) {
  xnn_unary_params params{};
  switch (node.op()) {
    case OpCode::kClamp:
      params.clamp.min = node.As<ClampAttrs>().min;
      params.clamp.max = node.As<ClampAttrs>().max;
      break;
    case OpCode::kLeakyRelu:
      params.leaky_relu.negative_slope = node.As<AlphaAttrs>().alpha;
      break;
    case OpCode::kElu:
      params.elu.alpha = node.As<AlphaAttrs>().alpha;
      break;
    default:
      break;
  }
  return params;
}

}  // namespace

Result<StepPointer> LowerUnary(const NodeView& node, const Environment& environment) {
  if (node.in(0).dtype == DType::kF32) {
    if (node.op() == OpCode::kGelu && node.As<GeluAttrs>().approximate == GeluKind::kTanh) {
      return MakeStep<KernelUnaryStep>(node, environment, UnaryKernel::kGeluTanh, KernelParams());
    }
    for (const KernelRow& row : kKernelRows) {
      if (row.op == node.op())
        return MakeStep<KernelUnaryStep>(node, environment, row.kernel, KernelParamsOf(node));
    }
  }
  for (const XnnRow& row : kXnnRows) {
    if (row.op == node.op()) return MakeStep<XnnUnaryStep>(node, environment, row.type, XnnParamsOf(node));
  }
  return Refuse();
}

Result<StepPointer> LowerCast(const NodeView& node, const Environment& environment) {
  if (node.in(0).dtype == node.out(0).dtype) return LowerCopy(node, environment);
  return MakeStep<XnnUnaryStep>(node, environment, xnn_unary_convert, xnn_unary_params());
}

}  // namespace skiff::xnnpack
