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

void WidenPixels(const Kernels& kernels, const TensorView& picture, const uint8_t* from, size_t pixels,
                 int16_t* to) {
  const Rows rows = RowsOf(picture);
  const auto zero_point = static_cast<int16_t>(picture.quantization->zero_point);
  const WidenCodesFn widen = kernels.codes.widen[CodeTypeOf(picture.dtype)];
  if (rows.stride == rows.length) return widen(pixels * rows.length, from, zero_point, to);
  for (size_t i = 0; i < pixels; ++i)
    widen(rows.length, from + i * rows.stride, zero_point, to + i * rows.length);
}

}  // namespace skiff::xnnpack
