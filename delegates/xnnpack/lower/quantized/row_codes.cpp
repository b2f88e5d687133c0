#include "delegates/xnnpack/lower/quantized/row_codes.h"

#include "core/wide_constant.h"
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

/// The node that makes codes of input 0; nothing where none of this segment does.
std::optional<NodeView> CodesBehind(const NodeView& node) {
  const std::optional<NodeView> producer = node.Producer(0);
  if (!producer || producer->op() != OpCode::kFakeQuantize || !producer->InSegment()) return std::nullopt;
  return producer;
}

/// i8 around 0, with one scale or one for each output; of a Conv2d as the file has them. Nothing: others.
std::optional<TensorView> WeightsOf(const NodeView& node) {
  const PlanTensor& tensor = node.input(kWeights);
  TensorView weights = tensor.wide == nullptr ? tensor.view : tensor.wide->stored();
  weights.shape = tensor.view.shape;
  const Shape& shape = weights.shape;
  const bool bias = !node.Has(kBias) || (node.input(kBias).constant && node.in(kBias).dtype == DType::kF32);
  if (!tensor.constant || !bias || weights.dtype != DType::kI8 || weights.quantization == nullptr)
    return std::nullopt;
  if (shape.rank() < 2 || shape.ElementsBetween(1, shape.rank()) > kMostTerms) return std::nullopt;
  const bool taken = HasSymmetricScales(*weights.quantization, 0) && MayMeet(weights, /*depthwise=*/false);
  return taken ? std::optional(weights) : std::nullopt;
}

}  // namespace

Status RowTerms::Prepare(const NodeView& node, const TensorView& weights, size_t outputs) {
  has_bias_ = node.Has(kBias);
  const Quantization& quantization = *weights.quantization;
  SKIFF_RETURN_IF_ERROR(numbers_.Allocate(has_bias_ ? 2 * outputs : outputs));
  for (size_t i = 0; i < outputs; ++i) {
    numbers_[i] = quantization.ScaleAt(quantization.per_tensor() ? 0 : static_cast<int64_t>(i));
    if (has_bias_) numbers_[outputs + i] = node.in(kBias).as<const float>()[i];
  }
  return OkStatus();
}

PackingKey RowTerms::Key(PackingKind kind, const NodeView& node) const {
  PackingKey key;
  key.kind = kind;
  key.dtype = DType::kI8;
  key.has_bias = has_bias_;
  key.weights = node.input(kWeights).hash;
  key.bias = HashOf({reinterpret_cast<const uint8_t*>(numbers_.data()), numbers_.size() * sizeof(float)});
  return key;
}

bool RunsOnRowCodes(const NodeView& node, const Environment& environment) {
  if (!WeightsOf(node)) return false;
  const std::optional<NodeView> codes = CodesBehind(node);
  if (!codes) return false;
  if (node.op() == OpCode::kFullyConnected) return true;
  if (node.op() != OpCode::kConv2d || node.As<Conv2dAttrs>().groups != 1) return false;
  if (IsPointwise(node.As<Conv2dAttrs>(), node.in(kWeights).shape)) return true;
  // Our windows of floats are faster than XNNPACK's of bytes: 20 ms against 29 of a ResNet-18 (AVX-512).
  const bool floats_are_faster =
      kHasOwnKernels && environment.kernels->dense != nullptr && !HasFasterSums(*environment.kernels);
  // A window meets pixels of one scale.
  const int axis = NormalizeAxis(codes->As<FakeQuantizeAttrs>().axis, codes->in(0).shape.rank());
  return axis <= 1 && !floats_are_faster;
}

Result<StepPointer> LowerRowCodes(const NodeView& node, const Environment& environment) {
  const TensorView weights = *WeightsOf(node);
  if (node.op() == OpCode::kFullyConnected) {
    const auto& attrs = node.As<ClampAttrs>();
    return LowerRowCodesLinear(node, environment, weights, attrs.min, attrs.max);
  }
  const auto& attrs = node.As<Conv2dAttrs>();
  if (IsPointwise(attrs, weights.shape))
    return LowerRowCodesLinear(node, environment, weights, attrs.min, attrs.max);
  return LowerRowCodesConvolution(node, environment, weights);
}

}  // namespace skiff::xnnpack
