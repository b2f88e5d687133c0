/// Between real numbers and the integers that stand for them, for applications.
#pragma once

#include "skiff/quantization.h"

namespace skiff {

/// Real numbers into the integers that stand for them, as operator Quantize does it: rounded once, half to
/// even, saturating; NaN becomes the zero point. `to` is dense and quantised, as Session::InputBuffer() of
/// such an input is, and `from` has as many elements. kInvalidArgument where it is not, and for i4 and u4,
/// which only constants have.
Status QuantizeFloats(const float* from, const TensorView& to);
/// The real numbers that the elements of `from`, an output for example, stand for. Fails as QuantizeFloats().
Status DequantizeToFloats(const ConstTensorView& from, float* to);

}  // namespace skiff
