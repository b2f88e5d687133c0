#include "delegates/xnnpack/lower/quantized/codes.h"

namespace skiff::xnnpack {

CodeParams CodeParamsOf(const TensorView& y, float min, float max) {
  const CodeLimits limits = LimitsOf(y, min, max);
  const int zero_point = y.quantization->zero_point;
  CodeParams params;
  params.scale = static_cast<double>(y.quantization->scale);
  params.low = limits.low - zero_point;
  params.high = limits.high - zero_point;
  params.zero_point = zero_point;
  return params;
}

}  // namespace skiff::xnnpack
