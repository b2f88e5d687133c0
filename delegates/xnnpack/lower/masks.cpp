// Comparisons, masks and choices by them, with broadcasting.
#include "delegates/xnnpack/lower/broadcast.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

struct RelationRow {
  OpCode op;
  Relation relation;
  bool swapped;  ///< a > b is b < a.
};

constexpr RelationRow kRelations[] = {
    {OpCode::kEqual, Relation::kEqual, false},
    {OpCode::kLess, Relation::kLess, false},
    {OpCode::kLessOrEqual, Relation::kLessOrEqual, false},
    {OpCode::kGreater, Relation::kLess, true},
    {OpCode::kGreaterOrEqual, Relation::kLessOrEqual, true},
};

struct TypeRow {
  DType dtype;
  CompareType type;
};

constexpr TypeRow kCompareTypes[] = {
    {DType::kF32, CompareType::kF32}, {DType::kI32, CompareType::kI32}, {DType::kI64, CompareType::kI64},
    {DType::kU8, CompareType::kU8},   {DType::kBool, CompareType::kU8}, {DType::kF64, CompareType::kF64},
};

class CompareStep final : public BroadcastStep {
 public:
  CompareStep(const NodeView& node, const Environment& environment, const RelationRow& row, CompareType type)
      : BroadcastStep(node, environment), row_(row), type_(type) {}

 private:
  void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) override {
    const bool swapped[BroadcastAxes::kMostOperands - 1] = {repeats[1], repeats[0]};
    function_ = kCompareKernels[static_cast<size_t>(row_.relation)][static_cast<size_t>(type_)]
                               [FormOf(row_.swapped ? swapped : repeats)];
  }
  void Compute(size_t n, const Addresses& at) const override {
    function_(n, at[row_.swapped ? 2 : 1], at[row_.swapped ? 1 : 2], reinterpret_cast<uint8_t*>(at[0]));
  }

  const RelationRow row_;
  const CompareType type_;
  CompareFn function_ = nullptr;
};

class LogicStep final : public BroadcastStep {
 public:
  LogicStep(const NodeView& node, const Environment& environment, LogicKernel kernel)
      : BroadcastStep(node, environment), kernel_(kernel) {}

 private:
  void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) override {
    function_ = kLogicKernels[static_cast<size_t>(kernel_)][FormOf(repeats)];
  }
  void Compute(size_t n, const Addresses& at) const override {
    function_(n, reinterpret_cast<const uint8_t*>(at[1]), reinterpret_cast<const uint8_t*>(at[2]),
              reinterpret_cast<uint8_t*>(at[0]));
  }

  const LogicKernel kernel_;
  LogicFn function_ = nullptr;
};

/// A condition that is one value throughout a run chooses for the run as a whole: one of its sides, compared
/// with itself.
class WhereStep final : public BroadcastStep {
 public:
  using BroadcastStep::BroadcastStep;

 private:
  void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) override {
    size_t log = 0;
    while ((size_t{1} << log) < ElementBytes(node_.out(0))) ++log;
    one_condition_ = repeats[0];
    for (size_t i = 0; i < 4; ++i) functions_[i] = kChooseKernels[log][i];
    form_ = (repeats[1] ? 1u : 0u) | (repeats[2] ? 2u : 0u);
  }
  void Compute(size_t n, const Addresses& at) const override {
    const auto* condition = reinterpret_cast<const uint8_t*>(at[1]);
    if (!one_condition_) return functions_[form_](n, condition, at[2], at[3], at[0]);
    const bool yes = *condition != 0;
    const char* chosen = at[yes ? 2 : 3];
    // Both sides are the chosen one, so that it does not matter what the kernel reads as its condition.
    const bool repeats = ((form_ >> (yes ? 0u : 1u)) & 1u) != 0;
    functions_[repeats ? 3 : 0](n, reinterpret_cast<const uint8_t*>(at[0]), chosen, chosen, at[0]);
  }

  ChooseFn functions_[4] = {};
  size_t form_ = 0;
  bool one_condition_ = false;
};

}  // namespace

Result<StepPointer> LowerCompare(const NodeView& node, const Environment& environment) {
  for (const RelationRow& row : kRelations) {
    if (row.op != node.op()) continue;
    for (const TypeRow& type : kCompareTypes) {
      if (type.dtype == node.in(0).dtype) return MakeStep<CompareStep>(node, environment, row, type.type);
    }
  }
  return Refuse();
}

Result<StepPointer> LowerLogic(const NodeView& node, const Environment& environment) {
  const LogicKernel kernel = node.op() == OpCode::kAnd  ? LogicKernel::kAnd
                             : node.op() == OpCode::kOr ? LogicKernel::kOr
                                                        : LogicKernel::kXor;
  return MakeStep<LogicStep>(node, environment, kernel);
}

Result<StepPointer> LowerWhere(const NodeView& node, const Environment& environment) {
  return MakeStep<WhereStep>(node, environment);
}

}  // namespace skiff::xnnpack
