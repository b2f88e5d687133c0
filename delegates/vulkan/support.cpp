#include "delegates/vulkan/support.h"

#include <algorithm>
#include <iterator>

#include "delegates/vulkan/quantized_support.h"
#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/quantized.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

bool IsFloat16Or32(const PlanTensor* tensor) {
  return tensor == nullptr || tensor->view.dtype == DType::kF32 || tensor->view.dtype == DType::kF16;
}

bool AreFloats(const NodeTypes& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), IsFloat16Or32) && IsFloat16Or32(node.outputs[0]);
}

/// Types of which the device has tensors: what is moved keeps its bits.
bool IsStored(const PlanTensor* tensor) {
  constexpr DType kStored[] = {DType::kF32, DType::kF16, DType::kI32,  DType::kU32, DType::kI64,
                               DType::kU64, DType::kI8,  DType::kBool, DType::kU8};
  return tensor != nullptr &&
         std::find(std::begin(kStored), std::end(kStored), tensor->view.dtype) != std::end(kStored);
}

bool Has(const NodeTypes& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != nullptr; }
bool IsConstant(const NodeTypes& node, size_t i) { return Has(node, i) && node.inputs[i]->constant; }
int RankOf(const NodeTypes& node, size_t i) { return node.inputs[i]->view.shape.rank(); }

bool SupportsUnary(const NodeTypes& node) { return AreFloats(node); }
/// Of integers what the shader integer_binary has, without a clamp.
bool SupportsBinary(const NodeTypes& node) {
  const DType dtype = node.outputs[0]->view.dtype;
  if (dtype != DType::kI32 && dtype != DType::kI64) return node.op->code != OpCode::kMod && AreFloats(node);
  switch (node.op->code) {
    case OpCode::kDiv:
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kMul: {
      const auto& attrs = node.attrs->as<ClampAttrs>();
      return attrs.min == -kInfinity && attrs.max == kInfinity;
    }
    case OpCode::kMin:
    case OpCode::kMax:
    case OpCode::kMod:
      return true;
    default:
      return false;
  }
}

bool IsSigned(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kBool; }

bool SupportsCompare(const NodeTypes& node) {
  const DType dtype = node.inputs[0]->view.dtype;
  if (node.op->code == OpCode::kNot) return dtype == DType::kBool;
  const bool logic =
      node.op->code == OpCode::kAnd || node.op->code == OpCode::kOr || node.op->code == OpCode::kXor;
  if (logic) return dtype == DType::kBool;
  return dtype == node.inputs[1]->view.dtype && (IsFloat16Or32(node.inputs[0]) || IsSigned(dtype));
}

bool SupportsWhere(const NodeTypes& node) {
  return node.inputs[0]->view.dtype == DType::kBool && IsStored(node.outputs[0]);
}

/// What the shader cast knows; equal types are only moved.
bool IsCast(DType dtype) { return IsSigned(dtype) || dtype == DType::kU8; }

bool SupportsCast(const NodeTypes& node) {
  const DType from = node.inputs[0]->view.dtype;
  const DType to = node.outputs[0]->view.dtype;
  if (from == to) return IsStored(node.inputs[0]);
  return (IsFloat16Or32(node.inputs[0]) || IsCast(from)) && (IsFloat16Or32(node.outputs[0]) || IsCast(to));
}

bool HasConstantWeights(const NodeTypes& node) {
  return AreFloats(node) && IsConstant(node, 1) && (!Has(node, 2) || IsConstant(node, 2)) &&
         RankOf(node, 1) == 4;
}
bool SupportsConv2d(const NodeTypes& node) { return HasConstantWeights(node); }
bool SupportsConvTranspose2d(const NodeTypes& node) { return HasConstantWeights(node); }
bool SupportsFullyConnected(const NodeTypes& node) { return AreFloats(node); }
bool SupportsMatMul(const NodeTypes& node) { return AreFloats(node); }
bool SupportsMaxPool2d(const NodeTypes& node) { return AreFloats(node); }
bool SupportsAveragePool2d(const NodeTypes& node) { return AreFloats(node); }

bool SupportsResize2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ResizeAttrs>();
  if (attrs.coordinates == ResizeCoordinates::kTfCropAndResize || attrs.antialias) return false;
  return attrs.mode == ResizeMode::kNearest ? IsStored(node.inputs[0]) : IsFloat16Or32(node.inputs[0]);
}

bool SupportsSoftmax(const NodeTypes& node) { return AreFloats(node); }
bool SupportsLayerNorm(const NodeTypes& node) { return AreFloats(node); }
bool SupportsFakeQuantize(const NodeTypes& node) { return AreFloats(node); }
bool SupportsReduce(const NodeTypes& node) { return AreFloats(node); }
bool SupportsArg(const NodeTypes& node) { return IsFloat16Or32(node.inputs[0]); }

bool SupportsTopK(const NodeTypes& node) { return IsFloat16Or32(node.inputs[0]); }

/// The axis is an operand. Of integers those whose sums wrap at whole words.
bool SupportsCumSum(const NodeTypes& node) {
  const DType dtype = node.inputs[0]->view.dtype;
  const bool words =
      dtype == DType::kI32 || dtype == DType::kU32 || dtype == DType::kI64 || dtype == DType::kU64;
  return IsConstant(node, 1) && (IsFloat16Or32(node.inputs[0]) || words);
}

bool SupportsBatchNorm(const NodeTypes& node) {
  for (size_t i = 1; i < 5; ++i) {
    if (!IsConstant(node, i)) return false;
  }
  return AreFloats(node) &&
         NormalizeAxis(node.attrs->as<NormAttrs>().axis, RankOf(node, 0)) == RankOf(node, 0) - 1;
}

bool SupportsAlias(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsLookup(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsTranspose(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsChannelShuffle(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsConcat(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsSplit(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsSlice(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsExpand(const NodeTypes& node) { return IsStored(node.inputs[0]); }
bool SupportsTile(const NodeTypes& node) { return IsStored(node.inputs[0]); }

bool SupportsPad(const NodeTypes& node) {
  const bool constant_value = !Has(node, 2) || IsConstant(node, 2);
  return IsStored(node.inputs[0]) && DTypeSize(node.inputs[0]->view.dtype) <= 4 && constant_value &&
         RankOf(node, 0) > 0;
}

bool SupportsGather(const NodeTypes& node) {
  const DType dtype = node.inputs[1]->view.dtype;
  return IsStored(node.inputs[0]) && (dtype == DType::kI32 || dtype == DType::kI64);
}

bool SupportsGatherND(const NodeTypes& node) {
  return node.attrs->as<GatherNDAttrs>().batch_dims == 0 && SupportsGather(node);
}

bool SupportsGatherElements(const NodeTypes& node) { return SupportsGather(node); }

/// Reductions are rounded in the order of the indices, which shaders do not keep.
bool SupportsScatterElements(const NodeTypes& node) {
  return SupportsGather(node) && node.attrs->as<ScatterAttrs>().reduction == ScatterReduction::kNone;
}
bool SupportsScatterND(const NodeTypes& node) { return SupportsScatterElements(node); }

/// The weights, their bias and the peepholes are packed together.
bool SupportsRecurrent(const NodeTypes& node) {
  for (const size_t i : {1u, 2u, 6u}) {
    if (Has(node, i) && !IsConstant(node, i)) return false;
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != 4 && !IsFloat16Or32(node.inputs[i])) return false;
  }
  return true;
}

using SupportsFn = bool (*)(const NodeTypes& node);

/// A lowering that has no predicate here does not compile.
constexpr OpRow<SupportsFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, Supports##Lowering},
#include "delegates/vulkan/built_lowerings.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "lowerings.def must have the order of ops.def");

class Support final : public DelegateSupport {
 public:
  DelegateKind kind() const override { return DelegateKind::kVulkan; }
  const char* name() const override { return DelegateKindName(kind()); }
  Target target() const override { return Target::kVulkan; }

  bool Supports(const NodeTypes& node) const override {
    if (ComputesQuantized(node)) return vulkan::SupportsQuantized(node);
    return vulkan::SupportsPlain(node);
  }

  // Views with gaps become dense on the way to the device.
  bool TakesStridedInput(const NodeTypes&, size_t) const override { return true; }
  bool WritesStridedOutput(const NodeTypes&) const override { return true; }
};

constexpr Support kSupport;

}  // namespace

bool vulkan::SupportsPlain(const NodeTypes& node) {
  const SupportsFn supports = FindRow(kRows, node.op->code);
  return supports != nullptr && !node.inputs.empty() && node.inputs[0] != nullptr && supports(node);
}

const DelegateSupport& VulkanSupport() { return kSupport; }

}  // namespace skiff
