// Arithmetic on whole numbers and on f64, and remainders.
#include "delegates/xnnpack/lower/broadcast.h"
#include "delegates/xnnpack/lower/kernel_rows.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "eager/kernels/element.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

constexpr DType kTypes[] = {
#define NUMBER(Name, Type) DType::k##Name,
#include "delegates/xnnpack/kernels/kernels.def"
};

size_t TypeOf(DType dtype) {
  size_t type = 0;
  while (kTypes[type] != dtype) ++type;
  return type;
}

class ArithmeticStep final : public BroadcastStep {
 public:
  ArithmeticStep(const NodeView& node, const Environment& environment, const ArithmeticForms* types)
      : BroadcastStep(node, environment), forms_(types[TypeOf(node.in(0).dtype)]) {}

 private:
  void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) override {
    function_ = forms_[FormOf(repeats)];
  }
  void Compute(size_t n, const Addresses& at) const override { function_(n, at[1], at[2], at[0]); }

  const ArithmeticForms& forms_;
  ArithmeticFn function_ = nullptr;
};

class NumberStep final : public KernelRowsStep {
 public:
  NumberStep(const NodeView& node, const Environment& environment, NumberFn kernel)
      : KernelRowsStep(node, environment), kernel_(kernel) {
    if (node.op() != OpCode::kClamp) return;
    const auto& attrs = node.As<ClampAttrs>();
    const eager::LaneClamp<int64_t> limits(attrs.min, attrs.max);
    limits_ = {limits.low, limits.high, static_cast<double>(attrs.min), static_cast<double>(attrs.max)};
  }

 private:
  void Compute(size_t n, const void* x, void* y) const override { kernel_(n, x, y, limits_); }

  const NumberFn kernel_;
  NumberLimits limits_;
};

struct ArithmeticRow {
  OpCode op;
  Arithmetic kernel;
};
constexpr ArithmeticRow kArithmeticRows[] = {
#define ARITHMETIC(Kernel, Operator, f32) {OpCode::k##Operator, Arithmetic::k##Kernel},
#include "delegates/xnnpack/kernels/kernels.def"
};

struct FunctionRow {
  OpCode op;
  NumberFunction kernel;
};
constexpr FunctionRow kFunctionRows[] = {
#define FUNCTION(Operator, integers) {OpCode::k##Operator, NumberFunction::k##Operator},
#include "delegates/xnnpack/kernels/kernels.def"
};

}  // namespace

Result<StepPointer> LowerArithmetic(const NodeView& node, const Environment& environment) {
  const bool truncates = node.op() == OpCode::kMod && node.As<ModAttrs>().truncate;
  for (const ArithmeticRow& row : kArithmeticRows) {
    const Arithmetic kernel = truncates ? Arithmetic::kRemainder : row.kernel;
    const ArithmeticForms* const types = kArithmeticKernels[static_cast<size_t>(kernel)];
    if (row.op == node.op() && types != nullptr) return MakeStep<ArithmeticStep>(node, environment, types);
  }
  return Refuse();
}

Result<StepPointer> LowerNumbers(const NodeView& node, const Environment& environment) {
  for (const FunctionRow& row : kFunctionRows) {
    const NumberFn kernel = kNumberKernels[static_cast<size_t>(row.kernel)][TypeOf(node.in(0).dtype)];
    if (row.op == node.op() && kernel != nullptr) return MakeStep<NumberStep>(node, environment, kernel);
  }
  return Refuse();
}

}  // namespace skiff::xnnpack
