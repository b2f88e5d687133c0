/// Products of quantised operands: what XNNPACK is told of their numbers when it packs the weights.
#pragma once

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/quantized/codes.h"

namespace skiff::xnnpack {

/// Of the numbers that packed weights depend on.
ContentHash HashOf(Span<const uint8_t> bytes);

/// Whether weights of 8 bits less their zero point are i8.
inline bool FitBytes(const TensorView& weights) {
  return weights.quantization->ZeroPointAt(0) == (weights.dtype == DType::kI8 ? 0 : 128);
}

/// Whether XNNPACK's kernels may meet such weights: those for Arm cores without dot products, and all of
/// depthwise convolutions on Arm, add two products in 16 bits, which (-128) * (-128) twice would not fit.
bool MayMeet(const TensorView& weights, bool depthwise);
/// The same of u8 that become i8.
bool MayMeetAsSigned(const TensorView& weights, bool depthwise);

/// Of input 0 times the constant input 1 plus the constant input 2, where there is one.
class ProductTerms {
 public:
  /// `outputs`: channels of the output. kUnsupported: a bias that 32 bits do not hold beside the products, or
  /// weights that kernels of this architecture may not meet.
  Status Prepare(const NodeView& node, size_t outputs, float min, float max);

  /// Of the weights, one for each output. XNNPACK has the fastest kernels for i8 with a scale for each, so
  /// a scale of the tensor is repeated.
  const float* scales() const { return reinterpret_cast<const float*>(bytes_.data()); }
  /// In units of the products; null where there is none.
  const int32_t* bias() const {
    return has_bias_ ? reinterpret_cast<const int32_t*>(bytes_.data()) + outputs_ : nullptr;
  }
  float x_scale() const { return x_.scale; }
  float y_scale() const { return y_.scale; }
  template <class T>
  T x_zero_point() const {
    return static_cast<T>(x_.zero_point);
  }
  /// Of u8 weights.
  template <class T>
  T weights_zero_point() const {
    return static_cast<T>(weights_zero_point_);
  }
  template <class T>
  T y_zero_point() const {
    return static_cast<T>(y_.zero_point);
  }
  template <class T>
  T low() const {
    return static_cast<T>(limits_.low);
  }
  template <class T>
  T high() const {
    return static_cast<T>(limits_.high);
  }
  /// What makes steps of the output of an output's sum.
  float factor(size_t output) const { return x_scale() * scales()[output] / y_scale(); }
  /// The limits, the zero point and the sign of kernels of ours, which make i8 and turn what shall be u8.
  void SetCodes(DType y, CodeOutputArgs* args) const {
    args->low = static_cast<float>(limits_.low - y_.zero_point);
    args->high = static_cast<float>(limits_.high - y_.zero_point);
    args->zero_point = y == DType::kU8 ? y_.zero_point - 128 : y_.zero_point;
    args->sign = y == DType::kU8 ? 0x80 : 0;
  }
  /// A weight less its zero point.
  int16_t WeightAt(const TensorView& weights, size_t at) const {
    const int code =
        weights.dtype == DType::kI8 ? weights.as<const int8_t>()[at] : weights.as<const uint8_t>()[at];
    return static_cast<int16_t>(code - weights_zero_point_);
  }
  /// Of all that XNNPACK packs beside the weights: the bias is part of it.
  ContentHash Hash() const { return HashOf(bytes_); }

 private:
  Status ConvertBias(const NodeView& node);
  bool IsFaint(const NodeView& node, size_t output, double factor) const;

  FixedArray<unsigned char> bytes_;  ///< Scales, bias, and the other numbers that decide what is packed.
  size_t outputs_ = 0;
  bool has_bias_ = false;
  Quantization x_, y_;
  int32_t weights_zero_point_ = 0;
  CodeLimits limits_;
};

}  // namespace skiff::xnnpack
