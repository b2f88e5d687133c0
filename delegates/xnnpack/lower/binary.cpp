// Binary operators with broadcasting. f32 runs on kernels of ours, which clamp in the same pass and take
// views. f16 does on x86-64, in blocks that are computed in f32; elsewhere on XNNPACK, with the clamp as a
// second pass over the output. Other numbers in numbers.cpp.
#include <algorithm>

#include "delegates/xnnpack/lower/broadcast.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/operator.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

struct BinaryRow {
  OpCode op;
  BinaryKernel kernel;
  xnn_binary_operator type;  ///< For f16; invalid: there is none on XNNPACK.
};

constexpr BinaryRow kRows[] = {
    {OpCode::kAdd, BinaryKernel::kAdd, xnn_binary_add},
    {OpCode::kSub, BinaryKernel::kSub, xnn_binary_subtract},
    {OpCode::kMul, BinaryKernel::kMul, xnn_binary_multiply},
    {OpCode::kDiv, BinaryKernel::kDiv, xnn_binary_divide},
    {OpCode::kMin, BinaryKernel::kMin, xnn_binary_minimum},
    {OpCode::kMax, BinaryKernel::kMax, xnn_binary_maximum},
    {OpCode::kPow, BinaryKernel::kPow, xnn_binary_invalid},
    {OpCode::kPRelu, BinaryKernel::kPRelu, xnn_binary_prelu},
};

bool IsArithmetic(OpCode op) {
  return op == OpCode::kAdd || op == OpCode::kSub || op == OpCode::kMul || op == OpCode::kDiv;
}

/// The clamp that arithmetic carries; the others have none.
ClampAttrs ClampOf(const NodeView& node) {
  return IsArithmetic(node.op()) ? node.As<ClampAttrs>() : ClampAttrs();
}

class KernelBinaryStep final : public BroadcastStep {
 public:
  KernelBinaryStep(const NodeView& node, const Environment& environment, BinaryKernel kernel)
      : BroadcastStep(node, environment), kernel_(kernel), half_(IsF16(node.out(0).dtype)) {
    params_.min = ClampOf(node).min;
    params_.max = ClampOf(node).max;
  }

 private:
  void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) override {
    function_ = environment_.kernels->binary[static_cast<size_t>(kernel_)][FormOf(repeats)];
    for (int i = 0; i < 2; ++i) repeats_[i] = repeats[i];
  }
  void Compute(size_t n, const Addresses& at) const override {
    if (kHasOwnKernels && half_) return ComputeHalf(n, at);
    function_(n, reinterpret_cast<const float*>(at[1]), reinterpret_cast<const float*>(at[2]),
              reinterpret_cast<float*>(at[0]), params_);
  }

  void ComputeHalf(size_t n, const Addresses& at) const {
    constexpr size_t kBlock = 512;
    float operands[2][kBlock];
    for (size_t i = 0; i < n; i += kBlock) {
      const size_t count = std::min(n - i, kBlock);
      for (int t = 0; t < 2; ++t) {
        const auto* const from = reinterpret_cast<const uint16_t*>(at[1 + t]);
        environment_.kernels->widen(repeats_[t] ? 1 : count, repeats_[t] ? from : from + i, operands[t]);
      }
      float y[kBlock];
      function_(count, operands[0], operands[1], y, params_);
      environment_.kernels->narrow(count, y, reinterpret_cast<uint16_t*>(at[0]) + i);
    }
  }

  const BinaryKernel kernel_;
  const bool half_;
  KernelParams params_;
  BinaryFn function_ = nullptr;
  bool repeats_[2] = {};
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
      SKIFF_RETURN_IF_ERROR(operator_.Make([&](xnn_operator_t* made) {
        return xnn_create_binary_elementwise_nd(type_, datatype, nullptr, nullptr, nullptr, /*flags=*/0,
                                                made);
      }));
    }
    const TensorView* operands[] = {&y, &a, &b};
    const BroadcastAxes axes({operands, 3});
    if (axes.count() > XNN_MAX_TENSOR_DIMS) return Refuse();
    size_t a_shape[XNN_MAX_TENSOR_DIMS];
    size_t b_shape[XNN_MAX_TENSOR_DIMS];
    const auto rank = static_cast<size_t>(axes.count());
    for (size_t i = 0; i < rank; ++i) {
      const BroadcastAxes::Axis& axis = axes[static_cast<int>(rank - 1 - i)];
      a_shape[i] = axis.stride[1] == 0 ? 1 : static_cast<size_t>(axis.extent);
      b_shape[i] = axis.stride[2] == 0 ? 1 : static_cast<size_t>(axis.extent);
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
      SKIFF_RETURN_IF_ERROR(clamp_operator_.Make([&](xnn_operator_t* made) {
        return xnn_create_unary_elementwise_nc(xnn_unary_clamp, datatype, datatype, &params, nullptr, nullptr,
                                               /*flags=*/0, made);
      }));
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
  for (const BinaryRow& row : kRows) {
    if (row.op != node.op()) continue;
    const DType dtype = node.out(0).dtype;
    if (dtype == DType::kF32 || (kHasOwnKernels && IsF16(dtype)))
      return MakeStep<KernelBinaryStep>(node, environment, row.kernel);
    if (dtype != DType::kF16) return LowerArithmetic(node, environment);
    if (!kHasF16 || row.type == xnn_binary_invalid) break;
    return MakeStep<XnnBinaryStep>(node, environment, row.type, ClampOf(node));
  }
  return Refuse();
}

}  // namespace skiff::xnnpack
