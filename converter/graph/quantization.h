/// Quantisation of the host's tensors: shared and immutable, with arrays of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skiff/quantization.h"

namespace skiff {

/// Null: the integers are plain numbers.
using QuantizationPtr = std::shared_ptr<const Quantization>;

QuantizationPtr PerTensor(float scale, int32_t zero_point = 0);
/// A zero point for each scale, or none: all are 0. Throws Error (kInvalidArgument) where there are others.
QuantizationPtr PerAxis(int axis, std::vector<float> scales, std::vector<int32_t> zero_points = {},
                        int64_t block = 0);
/// The same scales along another axis.
QuantizationPtr AlongAxis(const QuantizationPtr& quantization, int axis);

inline bool SameQuantization(const QuantizationPtr& a, const QuantizationPtr& b) {
  return SameQuantization(a.get(), b.get());
}

/// With arrays of its own; null for none.
QuantizationPtr CopyOf(const Quantization* quantization);

/// " {scale=0.5, zero_point=3}", as the text form has it; "" for none.
std::string QuantizationText(const Quantization* quantization);
inline std::string QuantizationText(const QuantizationPtr& quantization) {
  return QuantizationText(quantization.get());
}

}  // namespace skiff
