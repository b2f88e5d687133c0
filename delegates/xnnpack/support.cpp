#include "delegates/xnnpack/support.h"

#include "delegates/xnnpack/build.h"
#include "delegates/xnnpack/quantized_support.h"
#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/quantized.h"
#include "ops/shape_rules.h"
#include "skiff/quantization.h"

namespace skiff {
namespace {

/// XNNPACK multiplies extents of windows in 32 bits; beyond this nothing is a real model any more.
constexpr int64_t kMostWindow = 1 << 12;

bool IsF32(const PlanTensor* tensor) { return tensor != nullptr && tensor->view.dtype == DType::kF32; }

/// f32 or f16, and the same for each of the tensors that are there.
bool AreFloats(Span<const PlanTensor* const> tensors) {
  const DType dtype = tensors[0]->view.dtype;
  if (dtype != DType::kF32 && !xnnpack::IsF16(dtype)) return false;
  for (const PlanTensor* tensor : tensors) {
    if (tensor != nullptr && tensor->view.dtype != dtype) return false;
  }
  return true;
}

bool Has(const NodeTypes& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != nullptr; }
bool IsConstant(const NodeTypes& node, size_t i) { return Has(node, i) && node.inputs[i]->constant; }
int RankOf(const NodeTypes& node, size_t i) { return node.inputs[i]->view.shape.rank(); }

bool Within(const Ints& values, int64_t low, int64_t high) {
  for (int64_t value : values) {
    if (value < low || value > high) return false;
  }
  return true;
}

/// XNNPACK wants min < max.
bool IsClamp(float min, float max) { return min < max; }

template <class Attrs>
bool IsWindow(const Attrs& attrs) {
  return Within(attrs.strides, 1, kMostWindow) && Within(attrs.dilations, 1, kMostWindow) &&
         Within(attrs.pads, 0, kMostWindow);
}

/// What kernels of numbers.cpp compute with, beside f32.
bool IsNumber(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kF64; }

/// Of the operators that numbers.cpp has functions for.
struct FunctionRow {
  OpCode op;
  bool integers;
};
constexpr FunctionRow kFunctions[] = {
#define FUNCTION(Operator, integers) {OpCode::k##Operator, integers},
#include "delegates/xnnpack/kernels/kernels.def"
};

bool SupportsNumbers(const NodeTypes& node) {
  const DType dtype = node.inputs[0]->view.dtype;
  for (const FunctionRow& row : kFunctions) {
    if (row.op == node.op->code) return IsNumber(dtype) && (row.integers || dtype == DType::kF64);
  }
  return false;
}

bool SupportsUnary(const NodeTypes& node) {
  if (!AreFloats(node.inputs)) return SupportsNumbers(node);
  if (node.op->code == OpCode::kClamp) {
    const auto& attrs = node.attrs->as<ClampAttrs>();
    return IsClamp(attrs.min, attrs.max);
  }
  return true;
}

bool SupportsFakeQuantize(const NodeTypes& node) { return IsF32(node.inputs[0]); }

/// Types of the casts that have a kernel; the same type is a copy.
struct CastRow {
  DType from;
  DType to;
};

constexpr CastRow kCasts[] = {
    {DType::kF32, DType::kF16},  {DType::kF16, DType::kF32},  {DType::kBool, DType::kF32},
    {DType::kBool, DType::kI32}, {DType::kBool, DType::kI64}, {DType::kU8, DType::kF32},
    {DType::kU8, DType::kI32},   {DType::kU8, DType::kI64},   {DType::kI32, DType::kF32},
    {DType::kI32, DType::kI64},  {DType::kI32, DType::kBool}, {DType::kI64, DType::kF32},
    {DType::kI64, DType::kI32},  {DType::kI64, DType::kBool}, {DType::kF32, DType::kI32},
    {DType::kF32, DType::kI64},  {DType::kF32, DType::kU8},   {DType::kF32, DType::kBool},
    {DType::kBool, DType::kF64}, {DType::kU8, DType::kF64},   {DType::kI16, DType::kF64},
    {DType::kI32, DType::kF64},  {DType::kU32, DType::kF64},  {DType::kI64, DType::kF64},
    {DType::kF32, DType::kF64},  {DType::kF64, DType::kF32},  {DType::kF64, DType::kI16},
    {DType::kF64, DType::kI32},  {DType::kF64, DType::kU32},  {DType::kF64, DType::kI64},
};

bool SupportsCopy(const NodeTypes& node) { return DTypeSize(node.inputs[0]->view.dtype) > 0; }

bool SupportsLookup(const NodeTypes& node) { return IsConstant(node, 1); }

bool SupportsCast(const NodeTypes& node) {
  const DType from = node.inputs[0]->view.dtype;
  const DType to = node.outputs[0]->view.dtype;
  if (from == to) return true;
  if (!xnnpack::kHasF16 && (from == DType::kF16 || to == DType::kF16)) return false;
  for (const CastRow& row : kCasts) {
    if (row.from == from && row.to == to) return true;
  }
  return false;
}

bool IsBool(const PlanTensor* tensor) { return tensor != nullptr && tensor->view.dtype == DType::kBool; }

bool SupportsNot(const NodeTypes& node) { return IsBool(node.inputs[0]); }
bool SupportsLogic(const NodeTypes& node) { return IsBool(node.inputs[0]) && IsBool(node.inputs[1]); }

bool SupportsCompare(const NodeTypes& node) {
  const DType dtype = node.inputs[0]->view.dtype;
  return dtype == node.inputs[1]->view.dtype &&
         (dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU8 ||
          dtype == DType::kBool || dtype == DType::kF64);
}

bool SupportsWhere(const NodeTypes& node) {
  return IsBool(node.inputs[0]) && DTypeSize(node.outputs[0]->view.dtype) > 0;
}

bool IsArithmetic(OpCode op) {
  return op == OpCode::kAdd || op == OpCode::kSub || op == OpCode::kMul || op == OpCode::kDiv;
}

constexpr OpCode kArithmetic[] = {
#define ARITHMETIC(Kernel, Operator, f32) OpCode::k##Operator,
#include "delegates/xnnpack/kernels/kernels.def"
};

/// Without a clamp: importers and passes write none behind such numbers.
bool SupportsArithmetic(const NodeTypes& node) {
  const DType dtype = node.inputs[0]->view.dtype;
  if (dtype != node.inputs[1]->view.dtype) return false;
  if (node.op->code == OpCode::kMod) return IsNumber(dtype) || dtype == DType::kF32;
  if (IsArithmetic(node.op->code)) {
    const auto& attrs = node.attrs->as<ClampAttrs>();
    if (attrs.min != -kInfinity || attrs.max != kInfinity) return false;
  }
  bool known = false;
  for (const OpCode op : kArithmetic) known = known || op == node.op->code;
  return known && IsNumber(dtype);
}

bool SupportsBinary(const NodeTypes& node) {
  if (!AreFloats(node.inputs)) return SupportsArithmetic(node);
  if (IsF32(node.inputs[0])) return true;
  if (!IsArithmetic(node.op->code)) return node.op->code != OpCode::kPow;
  const auto& attrs = node.attrs->as<ClampAttrs>();
  return IsClamp(attrs.min, attrs.max);
}

/// Weights of rank 4 and the bias are constants.
bool HasConvolutionWeights(const NodeTypes& node) {
  if (!AreFloats(node.inputs) || !IsConstant(node, 1) || (Has(node, 2) && !IsConstant(node, 2))) return false;
  const Shape& weights = node.inputs[1]->view.shape;
  return weights.rank() == 4 && weights[1] <= kMostWindow && weights[2] <= kMostWindow &&
         weights.elements() > 0;
}

bool SupportsConv2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Conv2dAttrs>();
  return HasConvolutionWeights(node) && IsWindow(attrs) && IsClamp(attrs.min, attrs.max);
}

bool SupportsConvTranspose2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ConvTranspose2dAttrs>();
  return HasConvolutionWeights(node) && IsWindow(attrs) && Within(attrs.output_pads, 0, kMostWindow) &&
         IsClamp(attrs.min, attrs.max);
}

bool SupportsBatchNorm(const NodeTypes& node) {
  for (size_t i = 1; i < 5; ++i) {
    if (!IsConstant(node, i)) return false;
  }
  return IsF32(node.inputs[0]) && AreFloats(node.inputs) &&
         NormalizeAxis(node.attrs->as<NormAttrs>().axis, RankOf(node, 0)) == RankOf(node, 0) - 1;
}

bool IsPool(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Pool2dAttrs>();
  // One tap is a copy of every n-th pixel, which XNNPACK does not take for a pool.
  return AreFloats(node.inputs) && IsWindow(attrs) && Within(attrs.kernel, 1, kMostWindow) &&
         attrs.kernel[0] * attrs.kernel[1] > 1;
}

bool SupportsMaxPool2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Pool2dAttrs>();
  return IsPool(node) && attrs.strides[0] <= attrs.kernel[0] && attrs.strides[1] <= attrs.kernel[1];
}

bool SupportsAveragePool2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Pool2dAttrs>();
  return IsPool(node) && attrs.dilations[0] == 1 && attrs.dilations[1] == 1;
}

bool SupportsResize2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ResizeAttrs>();
  if (attrs.coordinates == ResizeCoordinates::kTfCropAndResize) return false;
  if (attrs.mode == ResizeMode::kNearest) return DTypeSize(node.inputs[0]->view.dtype) > 0;
  const DType dtype = node.inputs[0]->view.dtype;
  if (attrs.antialias) return false;
  if (dtype == DType::kF32) return true;
  return xnnpack::IsF16(dtype) && attrs.mode == ResizeMode::kLinear && !attrs.exclude_outside &&
         attrs.coordinates <= ResizeCoordinates::kAsymmetric;
}

bool SupportsGridSample2d(const NodeTypes& node) {
  return IsF32(node.inputs[0]) && IsF32(node.inputs[1]) &&
         node.attrs->as<GridSampleAttrs>().mode != GridSampleMode::kCubic;
}

bool SupportsRoiAlign(const NodeTypes& node) {
  return IsF32(node.inputs[0]) && node.attrs->as<RoiAlignAttrs>().mode == RoiAlignMode::kAverage;
}

bool SupportsFullyConnected(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ClampAttrs>();
  return AreFloats(node.inputs) && IsClamp(attrs.min, attrs.max);
}

bool SupportsMatMul(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<MatMulAttrs>();
  return AreFloats(node.inputs) && IsClamp(attrs.min, attrs.max);
}

bool IsInnermost(const NodeTypes& node, int64_t axis) {
  return RankOf(node, 0) > 0 && NormalizeAxis(axis, RankOf(node, 0)) == RankOf(node, 0) - 1;
}

bool SupportsSoftmax(const NodeTypes& node) {
  if (IsF32(node.inputs[0])) return RankOf(node, 0) > 0;
  return AreFloats(node.inputs) && IsInnermost(node, node.attrs->as<AxisAttrs>().axis);
}

bool SupportsLogSoftmax(const NodeTypes& node) { return IsF32(node.inputs[0]) && RankOf(node, 0) > 0; }

bool SupportsArg(const NodeTypes& node) { return IsF32(node.inputs[0]); }

bool SupportsTopK(const NodeTypes& node) {
  const DType dtype = node.inputs[0]->view.dtype;
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64;
}

/// Trees that the file holds, which are checked once.
bool SupportsTreeEnsemble(const NodeTypes& node) {
  for (size_t i = 1; i < 6; ++i) {
    if (!IsConstant(node, i)) return false;
  }
  return IsF32(node.inputs[0]);
}

bool SupportsLayerNorm(const NodeTypes& node) { return AreFloats(node.inputs); }

bool SupportsReduce(const NodeTypes& node) {
  uint32_t mask = 0;
  return AreFloats(node.inputs) && ReducedAxes(node.attrs->as<ReduceAttrs>(), RankOf(node, 0), &mask) &&
         mask != 0;
}

/// The reduced axes must be neighbours, or what lies between them must have extent 1.
bool SupportsExtremum(const NodeTypes& node) {
  uint32_t mask = 0;
  if (!IsF32(node.inputs[0]) || !ReducedAxes(node.attrs->as<ReduceAttrs>(), RankOf(node, 0), &mask))
    return false;
  uint32_t gap = 0;  // Axes that are kept after the first reduced one.
  for (int i = 0; i < RankOf(node, 0); ++i) {
    const bool reduced = ((mask >> i) & 1u) != 0;
    if (node.inputs[0]->view.shape[i] == 1) continue;
    if (reduced && gap == 2) return false;
    if (reduced) gap = 1;
    if (!reduced && gap == 1) gap = 2;
  }
  return mask != 0;
}

bool SupportsGather(const NodeTypes& node) {
  const DType dtype = node.inputs[1]->view.dtype;
  return DTypeSize(node.inputs[0]->view.dtype) > 0 && (dtype == DType::kI32 || dtype == DType::kI64);
}

bool SupportsGatherND(const NodeTypes& node) { return SupportsGather(node); }
/// Updates that are joined to what they meet are too rare for kernels.
bool SupportsScatterND(const NodeTypes& node) {
  return SupportsGather(node) && node.attrs->as<ScatterAttrs>().reduction == ScatterReduction::kNone;
}
bool SupportsElements(const NodeTypes& node) {
  return node.op->code == OpCode::kScatterElements ? SupportsScatterND(node) : SupportsGather(node);
}

/// Peepholes are too rare for kernels of their own.
bool SupportsRecurrent(const NodeTypes& node) {
  const bool constant = IsConstant(node, 1) && (!Has(node, 2) || IsConstant(node, 2));
  return IsF32(node.inputs[0]) && constant && !Has(node, 6);
}

bool SupportsConcat(const NodeTypes& node) { return SupportsCopy(node); }
bool SupportsSplit(const NodeTypes& node) { return SupportsCopy(node); }
bool SupportsSlice(const NodeTypes& node) { return SupportsCopy(node); }
bool SupportsExpand(const NodeTypes& node) { return SupportsCopy(node); }
bool SupportsTile(const NodeTypes& node) { return SupportsCopy(node); }

bool SupportsTranspose(const NodeTypes& node) { return SupportsCopy(node); }

bool SupportsPad(const NodeTypes& node) {
  return DTypeSize(node.inputs[0]->view.dtype) > 0 && RankOf(node, 0) > 0;
}

bool SupportsChannelShuffle(const NodeTypes& node) {
  return SupportsCopy(node) && node.attrs->as<GroupsAttrs>().groups > 1;
}

using SupportsFn = bool (*)(const NodeTypes& node);

/// A lowering that has no predicate here does not compile. Asked for every node at every new shape.
constexpr OpRow<SupportsFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, Supports##Lowering},
#include "delegates/xnnpack/built_lowerings.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "lowerings.def must have the order of ops.def");

/// Lowerings that address input 0 and the outputs by rows that may lie apart.
bool WorksOnRows(const NodeTypes& node) {
  switch (node.op->code) {
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kMul:
    case OpCode::kDiv:
    case OpCode::kMin:
    case OpCode::kMax:
    case OpCode::kPRelu:
      // f16 runs on XNNPACK's binary operator, which is dense.
      return node.inputs[0]->view.dtype != DType::kF16;
    case OpCode::kDequantize:
      return node.inputs[0]->view.quantization->per_tensor();
    case OpCode::kFakeQuantize:
    case OpCode::kRoiAlign:
    case OpCode::kReduceSum:
    case OpCode::kReduceMean:
    case OpCode::kReduceMax:
    case OpCode::kReduceMin:
    case OpCode::kReduceProd:
    case OpCode::kTopK:
    case OpCode::kGather:
    case OpCode::kGatherElements:
    case OpCode::kGatherND:
    case OpCode::kScatterElements:
    case OpCode::kScatterND:
    case OpCode::kTranspose:
    case OpCode::kPad:
    case OpCode::kLstm:
    case OpCode::kGru:
    case OpCode::kRnn:
      return false;
    case OpCode::kArgMax:
    case OpCode::kArgMin:
      return IsInnermost(node, node.attrs->as<ArgAttrs>().axis);
    case OpCode::kMatMul:
      return IsConstant(node, 1) && RankOf(node, 1) == 2;
    case OpCode::kLayerNorm:
      return NormalizeAxis(node.attrs->as<NormAttrs>().axis, RankOf(node, 0)) == RankOf(node, 0) - 1;
    default:
      return true;
  }
}

class Support final : public DelegateSupport {
 public:
  DelegateKind kind() const override { return DelegateKind::kXnnpack; }
  const char* name() const override { return DelegateKindName(kind()); }

  bool Supports(const NodeTypes& node) const override {
    if (node.inputs.empty() || node.inputs[0] == nullptr) return false;
    if (ComputesQuantized(node)) return xnnpack::SupportsQuantized(node);
    const SupportsFn supports = FindRow(kRows, node.op->code);
    return supports != nullptr && supports(node);
  }

  bool TakesStridedInput(const NodeTypes& node, size_t index) const override {
    if (!Supports(node) || !WorksOnRows(node)) return false;
    return index == 0 || node.op->code == OpCode::kConcat || node.op->code == OpCode::kWhere ||
           node.op->Is(kBinary);
  }

  bool WritesStridedOutput(const NodeTypes& node) const override {
    const bool is_arg = node.op->code == OpCode::kArgMax || node.op->code == OpCode::kArgMin;
    return Supports(node) && WorksOnRows(node) && !is_arg;
  }
};

constexpr Support kSupport;

}  // namespace

const DelegateSupport& XnnpackSupport() { return kSupport; }

}  // namespace skiff
