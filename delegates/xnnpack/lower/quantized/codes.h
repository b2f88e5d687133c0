/// What kernels of codes are told of a tensor.
#pragma once

#include "core/code_range.h"
#include "core/wide_constant.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/lower/step.h"
#include "skiff/quantization.h"

namespace skiff::xnnpack {

/// Of an output with one scale, limited to real numbers.
CodeParams CodeParamsOf(const TensorView& y, float min, float max);

/// A constant as the file has it, which tensors of other shapes may share.
inline TensorView AsStored(const PlanTensor& tensor) {
  TensorView stored = tensor.wide == nullptr ? tensor.view : tensor.wide->stored();
  stored.shape = tensor.view.shape;
  return stored;
}

/// The index of kernels of i8 and u8.
inline size_t CodeTypeOf(DType dtype) { return dtype == DType::kI8 ? 0 : 1; }
/// Of those for kIntegerTypes.
inline size_t IntegerTypeOf(DType dtype) {
  if (DTypeSize(dtype) == 1) return CodeTypeOf(dtype);
  return dtype == DType::kI16 ? 2 : dtype == DType::kU16 ? 3 : 4;
}

/// `pixels` pixels of a quantised picture, from a place in it on, less a zero point and side by side.
template <class To>
void WidenPixels(const WidenCodesFn<To> (&kernels)[kCodeTypes], const TensorView& picture, int zero_point,
                 const uint8_t* from, size_t pixels, To* to) {
  const Rows rows = RowsOf(picture);
  const WidenCodesFn<To> widen = kernels[CodeTypeOf(picture.dtype)];
  if (rows.stride == rows.length) return widen(pixels * rows.length, from, zero_point, to);
  for (size_t i = 0; i < pixels; ++i)
    widen(rows.length, from + i * rows.stride, zero_point, to + i * rows.length);
}

}  // namespace skiff::xnnpack
