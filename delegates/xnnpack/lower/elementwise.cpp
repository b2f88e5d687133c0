// Unary operators and casts. Rows of a view may lie apart on both sides.
#include "delegates/xnnpack/lower/kernel_rows.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

/// f32, or f16 in blocks that are computed in f32.
class KernelUnaryStep final : public KernelRowsStep {
 public:
  KernelUnaryStep(const NodeView& node, const Environment& environment, UnaryKernel kernel,
                  const KernelParams& params)
      : KernelRowsStep(node, environment),
        kernel_(environment.kernels->unary[static_cast<size_t>(kernel)]),
        params_(params),
        half_(IsF16(node.in(0).dtype)) {}

 private:
  static constexpr size_t kHalfBlock = 512;

  void Compute(size_t n, const void* x, void* y) const override {
    if (!half_) return kernel_(n, static_cast<const float*>(x), static_cast<float*>(y), params_);
    float block[kHalfBlock];
    for (size_t i = 0; i < n; i += kHalfBlock) {
      const size_t count = n - i < kHalfBlock ? n - i : kHalfBlock;
      environment_.kernels->widen(count, static_cast<const uint16_t*>(x) + i, block);
      kernel_(count, block, block, params_);
      environment_.kernels->narrow(count, block, static_cast<uint16_t*>(y) + i);
    }
  }

  const UnaryFn kernel_;
  const KernelParams params_;
  const bool half_;
};

class ConvertStep final : public KernelRowsStep {
 public:
  ConvertStep(const NodeView& node, const Environment& environment, ConvertKernel kernel)
      : KernelRowsStep(node, environment), kernel_(kConvertKernels[static_cast<size_t>(kernel)]) {}

 private:
  void Compute(size_t n, const void* x, void* y) const override { kernel_(n, x, y); }

  const ConvertFn kernel_;
};

/// Between f32 and f16.
class HalfStep final : public KernelRowsStep {
 public:
  HalfStep(const NodeView& node, const Environment& environment)
      : KernelRowsStep(node, environment),
        kernel_(node.in(0).dtype == DType::kF16 ? environment.kernels->widen : environment.kernels->narrow) {}

 private:
  void Compute(size_t n, const void* x, void* y) const override { kernel_(n, x, y); }

  const ConvertFn kernel_;
};

class XnnUnaryStep final : public OperatorStep {
 public:
  XnnUnaryStep(const NodeView& node, const Environment& environment, xnn_unary_operator type,
               const xnn_unary_params& params)
      : OperatorStep(node, environment), type_(type), params_(params) {}

  Status Reshape() override {
    if (!operator_) {
      SKIFF_RETURN_IF_ERROR(operator_.Make([&](xnn_operator_t* made) {
        return xnn_create_unary_elementwise_nc(type_, DatatypeOf(node_.in(0).dtype),
                                               DatatypeOf(node_.out(0).dtype), &params_, nullptr, nullptr,
                                               /*flags=*/0, made);
      }));
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

/// kernels.def says where ours are better and come first.
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

/// Ours, and for which type they are the better ones. The others are for builds without XNNPACK's
/// (kOwnUnary).
constexpr struct {
  UnaryKernel kernel;
  OpCode op;
  bool f32;
  bool f16;
} kKernelRows[] = {
#define UNARY(Kernel, Operator, f32, f16) {UnaryKernel::k##Kernel, OpCode::k##Operator, f32, f16},
#include "delegates/xnnpack/kernels/kernels.def"
};

KernelParams KernelParamsOf(const NodeView& node) {
  KernelParams params;
  switch (node.op()) {
    case OpCode::kClamp:
      params.min = node.As<ClampAttrs>().min;
      params.max = node.As<ClampAttrs>().max;
      break;
    case OpCode::kElu:
    case OpCode::kLeakyRelu:
      params.alpha = node.As<AlphaAttrs>().alpha;
      break;
    case OpCode::kHardSigmoid:
      params.alpha = node.As<HardSigmoidAttrs>().alpha;
      params.beta = node.As<HardSigmoidAttrs>().beta;
      break;
    default:
      break;
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

struct ConvertRow {
  DType from;
  DType to;
  ConvertKernel kernel;
};

constexpr ConvertRow kConvertRows[] = {
    {DType::kBool, DType::kF32, ConvertKernel::kU8ToF32},
    {DType::kBool, DType::kI32, ConvertKernel::kU8ToI32},
    {DType::kBool, DType::kI64, ConvertKernel::kU8ToI64},
    {DType::kU8, DType::kF32, ConvertKernel::kU8ToF32},
    {DType::kU8, DType::kI32, ConvertKernel::kU8ToI32},
    {DType::kU8, DType::kI64, ConvertKernel::kU8ToI64},
    {DType::kI32, DType::kF32, ConvertKernel::kI32ToF32},
    {DType::kI32, DType::kI64, ConvertKernel::kI32ToI64},
    {DType::kI32, DType::kBool, ConvertKernel::kI32ToBool},
    {DType::kI64, DType::kF32, ConvertKernel::kI64ToF32},
    {DType::kI64, DType::kI32, ConvertKernel::kI64ToI32},
    {DType::kI64, DType::kBool, ConvertKernel::kI64ToBool},
    {DType::kF32, DType::kI32, ConvertKernel::kF32ToI32},
    {DType::kF32, DType::kI64, ConvertKernel::kF32ToI64},
    {DType::kF32, DType::kU8, ConvertKernel::kF32ToU8},
    {DType::kF32, DType::kBool, ConvertKernel::kF32ToBool},
    {DType::kBool, DType::kF64, ConvertKernel::kU8ToF64},
    {DType::kU8, DType::kF64, ConvertKernel::kU8ToF64},
    {DType::kI16, DType::kF64, ConvertKernel::kI16ToF64},
    {DType::kI32, DType::kF64, ConvertKernel::kI32ToF64},
    {DType::kU32, DType::kF64, ConvertKernel::kU32ToF64},
    {DType::kI64, DType::kF64, ConvertKernel::kI64ToF64},
    {DType::kF32, DType::kF64, ConvertKernel::kF32ToF64},
    {DType::kF64, DType::kF32, ConvertKernel::kF64ToF32},
    {DType::kF64, DType::kI16, ConvertKernel::kF64ToI16},
    {DType::kF64, DType::kI32, ConvertKernel::kF64ToI32},
    {DType::kF64, DType::kU32, ConvertKernel::kF64ToU32},
    {DType::kF64, DType::kI64, ConvertKernel::kF64ToI64},
};

}  // namespace

Result<StepPointer> LowerUnary(const NodeView& node, const Environment& environment) {
  const auto on_kernel = [&](UnaryKernel kernel) {
    return MakeStep<KernelUnaryStep>(node, environment, kernel, KernelParamsOf(node));
  };
  const DType dtype = node.in(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16) return LowerNumbers(node, environment);
  const bool f16 = IsF16(dtype);
  if (node.op() == OpCode::kGelu && node.As<GeluAttrs>().approximate == GeluKind::kTanh)
    return on_kernel(UnaryKernel::kGeluTanh);
  // As fast as XNNPACK's on AVX2, and they can follow a product.
  const bool follows = kHasOwnKernels && !f16 && RunsDense(node, environment) &&
                       (node.op() == OpCode::kHardSwish || node.op() == OpCode::kGelu);
  for (const auto& row : kKernelRows) {
    // XNNPACK's f16 on x86 loses NaN, small numbers, and that a Tanh is at most 1.
    const bool better = f16 ? row.f16 || kHasOwnKernels : row.f32;
    if (row.op == node.op() && (kOwnUnary || follows || better)) return on_kernel(row.kernel);
  }
  if (kOwnUnary) return Refuse();
  for (const XnnRow& row : kXnnRows) {
    if (row.op == node.op()) return MakeStep<XnnUnaryStep>(node, environment, row.type, XnnParamsOf(node));
  }
  return Refuse();
}

Result<StepPointer> LowerNot(const NodeView& node, const Environment& environment) {
  return MakeStep<ConvertStep>(node, environment, ConvertKernel::kNot);
}

Result<StepPointer> LowerCast(const NodeView& node, const Environment& environment) {
  const DType from = node.in(0).dtype;
  const DType to = node.out(0).dtype;
  if (from == to) return LowerCopy(node, environment);
  for (const ConvertRow& row : kConvertRows) {
    if (row.from == from && row.to == to) return MakeStep<ConvertStep>(node, environment, row.kernel);
  }
  // What is left is from f32 to f16 or back.
  if (!kHasF16) return Refuse();
  if (kOwnUnary) return MakeStep<HalfStep>(node, environment);
  return MakeStep<XnnUnaryStep>(node, environment, xnn_unary_convert, xnn_unary_params());
}

}  // namespace skiff::xnnpack
