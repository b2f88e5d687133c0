#include "delegates/xnnpack/lower/quantized/product.h"

#include <cpuinfo.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/keyed_hash.h"
#include "delegates/xnnpack/quantized_support.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

/// What quantized_support.cpp leaves for a bias of the sums of products.
constexpr double kMostBias = 1 << 30;
/// By how much the unit of a bias beyond that is raised: any of 32 bits fits then.
constexpr float kRaise = 4;

}  // namespace

bool MayMeet(const TensorView& weights, bool depthwise) {
  return weights.dtype != DType::kI8 || MayMeetAsSigned(weights, depthwise);
}

bool MayMeetAsSigned(const TensorView& weights, bool depthwise) {
#if defined(__x86_64__)
  static_cast<void>(weights);
  static_cast<void>(depthwise);
  return true;
#else
  if (!depthwise && cpuinfo_has_arm_neon_dot()) return true;
  const int least = weights.dtype == DType::kI8 ? 0x80 : 0;
  return std::memchr(weights.data, least, static_cast<size_t>(weights.shape.elements())) == nullptr;
#endif
}

Status ProductTerms::Prepare(const NodeView& node, size_t outputs, float min, float max) {
  const TensorView& w = node.in(1);
  const bool depthwise = node.op() == OpCode::kConv2d && w.shape[3] == 1;
  if (!MayMeet(w, depthwise)) return Refuse();
  x_ = *node.in(0).quantization;
  y_ = *node.out(0).quantization;
  outputs_ = outputs;
  has_bias_ = node.Has(2);
  weights_zero_point_ = w.quantization->ZeroPointAt(0);
  limits_ = LimitsOf(node.out(0), min, max);
  const float others[] = {x_.scale, y_.scale, static_cast<float>(x_.zero_point),
                          static_cast<float>(weights_zero_point_)};
  const size_t vectors = has_bias_ ? 2 : 1;
  SKIFF_RETURN_IF_ERROR(bytes_.Allocate(vectors * outputs * sizeof(float) + sizeof(others)));
  auto* const scales = reinterpret_cast<float*>(bytes_.data());
  for (size_t i = 0; i < outputs; ++i)
    scales[i] = w.quantization->ScaleAt(w.quantization->per_tensor() ? 0 : static_cast<int64_t>(i));
  SKIFF_RETURN_IF_ERROR(has_bias_ ? ConvertBias(node) : OkStatus());
  // Of channels that are all but dead, and whose bias is in units of the products.
  const float least = kLeastSumFactor * 1.001f * y_.scale / x_.scale;  // Whichever way it is computed.
  for (size_t i = 0; i < outputs; ++i) scales[i] = scales[i] < least ? least : scales[i];
  std::memcpy(bytes_.data() + vectors * outputs * sizeof(float), others, sizeof(others));
  return OkStatus();
}

/// Whether the products of a channel, at most, are so small a part of a step of the output that they may
/// count kRaise times: in a channel whose weights training has let die beside its bias.
bool ProductTerms::IsFaint(const NodeView& node, size_t output, double factor) const {
  constexpr double kPartOfStep = 0.05;
  constexpr double kMostCode = 255;  // The most that a code of 8 bits is away from its zero point.
  const TensorView& weights = node.in(1);
  const size_t count = static_cast<size_t>(weights.shape.elements()) / outputs_;
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += std::abs(static_cast<double>(WeightAt(weights, output * count + i)));
  return (static_cast<double>(kRaise) - 1) * sum * kMostCode * factor <= kPartOfStep;
}

/// A bias of another unit than the products', or of f32, is rounded to theirs, which is no larger than the
/// output's (quantized_support.cpp): the results are within a unit of what they would be.
Status ProductTerms::ConvertBias(const NodeView& node) {
  const TensorView& view = node.in(2);
  const Quantization* const quantization = view.quantization;
  auto* const scales = reinterpret_cast<float*>(bytes_.data());
  auto* const bias = reinterpret_cast<int32_t*>(bytes_.data()) + outputs_;
  for (size_t i = 0; i < outputs_; ++i) {
    const double unit = static_cast<double>(x_.scale) * static_cast<double>(scales[i]);
    double units = 0;
    if (quantization == nullptr) {
      units = static_cast<double>(view.as<const float>()[i]) / unit;
    } else {
      const int64_t at = quantization->per_tensor() ? 0 : static_cast<int64_t>(i);
      const float scale = quantization->ScaleAt(at);
      units = static_cast<double>(view.as<const int32_t>()[i]) - quantization->ZeroPointAt(at);
      if (scale != static_cast<float>(unit)) units *= static_cast<double>(scale) / unit;
    }
    double rounded = std::nearbyint(units);
    // Of a channel that is all but dead any bias is too small to be seen.
    const double factor = unit / static_cast<double>(y_.scale);
    if (factor < static_cast<double>(kLeastSumFactor)) rounded = std::clamp(rounded, -kMostBias, kMostBias);
    if (std::abs(rounded) > kMostBias) {
      if (!IsFaint(node, i, factor)) return Refuse();
      scales[i] *= kRaise;
      rounded = std::nearbyint(units / static_cast<double>(kRaise));
    }
    if (!(std::abs(rounded) <= kMostBias)) return Refuse();
    bias[i] = static_cast<int32_t>(rounded);
  }
  return OkStatus();
}

ContentHash HashOf(Span<const uint8_t> bytes) {
  return {KeyedHash({{1, 2}}, bytes), KeyedHash({{3, 4}}, bytes)};
}

}  // namespace skiff::xnnpack
