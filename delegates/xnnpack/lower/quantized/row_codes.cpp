#include "delegates/xnnpack/lower/quantized/row_codes.h"

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/quantized_support.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;
/// Products of two codes whose sum 32 bits hold.
constexpr int64_t kMostTerms = 1 << 15;

/// i8 or u8, with one scale or one for each output; of a Conv2d as the file has them. Nothing: others.
std::optional<TensorView> WeightsOf(const NodeView& node) {
  const PlanTensor& tensor = node.input(kWeights);
  const TensorView weights = AsStored(tensor);
  const Shape& shape = weights.shape;
  const bool bias = !node.Has(kBias) || (node.input(kBias).constant && node.in(kBias).dtype == DType::kF32);
  const bool bytes = weights.dtype == DType::kI8 || weights.dtype == DType::kU8;
  if (!tensor.constant || !bias || !bytes || weights.quantization == nullptr) return std::nullopt;
  if (shape.rank() < 2 || shape.ElementsBetween(1, shape.rank()) > kMostTerms) return std::nullopt;
  const bool taken =
      HasNormalScales(*weights.quantization, 0) && MayMeetAsSigned(weights, /*depthwise=*/false);
  return taken ? std::optional(weights) : std::nullopt;
}

}  // namespace

std::optional<NodeView> CodesBehind(const NodeView& node) {
  const std::optional<NodeView> producer = node.Producer(0);
  if (!producer || producer->op() != OpCode::kFakeQuantize || !producer->InSegment()) return std::nullopt;
  return producer;
}

Status RowTerms::Prepare(const NodeView& node, const TensorView& weights, size_t outputs) {
  const bool around_middle = IsAroundMiddle(weights);
  const Quantization& quantization = *weights.quantization;
  outputs_ = outputs;
  SKIFF_RETURN_IF_ERROR(numbers_.Allocate((around_middle ? 2 : 3) * outputs));
  for (size_t i = 0; i < outputs; ++i) {
    const int64_t at = quantization.per_tensor() ? 0 : static_cast<int64_t>(i);
    numbers_[i] = quantization.ScaleAt(at);
    numbers_[outputs + i] = node.Has(kBias) ? node.in(kBias).as<const float>()[i] : 0;
    if (around_middle) continue;
    const int32_t above = MiddleCode(weights.dtype) - quantization.ZeroPointAt(at);
    numbers_[2 * outputs + i] = numbers_[i] * static_cast<float>(above);
  }
  return OkStatus();
}

PackingKey RowTerms::Key(PackingKind kind, const NodeView& node, const TensorView& weights) const {
  PackingKey key;
  key.kind = kind;
  key.dtype = weights.dtype;
  key.has_bias = true;
  key.weights = node.input(kWeights).hash;
  key.bias = HashOf({reinterpret_cast<const uint8_t*>(numbers_.data()), numbers_.size() * sizeof(float)});
  return key;
}

bool RunsOnRowCodes(const NodeView& node, const Environment& environment) {
  const std::optional<TensorView> weights = WeightsOf(node);
  if (!weights) return false;
  const std::optional<NodeView> codes = CodesBehind(node);
  if (!codes || codes->As<FakeQuantizeAttrs>().block > 0) return false;
  if (node.op() == OpCode::kFullyConnected) return true;
  if (node.op() != OpCode::kConv2d || node.As<Conv2dAttrs>().groups != 1) return false;
  if (IsPointwise(node.As<Conv2dAttrs>(), node.in(kWeights).shape)) return true;
  // A window meets pixels of one scale.
  const int axis = NormalizeAxis(codes->As<FakeQuantizeAttrs>().axis, codes->in(0).shape.rank());
  if (axis > 1) return false;
  if (kHasOwnKernels && TakesWindowsOfRowCodes(node, *weights, *environment.kernels)) return true;
  if (weights->dtype != DType::kI8 || !IsAroundMiddle(*weights)) return false;
  // Our windows of floats are faster than XNNPACK's of bytes: 20 ms against 29 of a ResNet-18 (AVX-512).
  return !kHasOwnKernels || environment.kernels->dense == nullptr || HasFasterSums(*environment.kernels);
}

Result<StepPointer> LowerRowCodes(const NodeView& node, const Environment& environment) {
  const TensorView weights = *WeightsOf(node);
  const bool is_linear = node.op() == OpCode::kFullyConnected;
  const bool has_windows = !is_linear && !IsPointwise(node.As<Conv2dAttrs>(), weights.shape);
  if (has_windows && !(kHasOwnKernels && TakesWindowsOfRowCodes(node, weights, *environment.kernels)))
    return LowerRowCodesConvolution(node, environment, weights);
  const float min = is_linear ? node.As<ClampAttrs>().min : node.As<Conv2dAttrs>().min;
  const float max = is_linear ? node.As<ClampAttrs>().max : node.As<Conv2dAttrs>().max;
  if (kHasOwnKernels && HasRowCodesDense(*environment.kernels))
    return LowerRowCodesDense(node, environment, weights, min, max);
  return LowerRowCodesLinear(node, environment, weights, min, max);
}

}  // namespace skiff::xnnpack
