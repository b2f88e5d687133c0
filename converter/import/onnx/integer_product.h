/// Products of integers that are not rounded, and the integers that are made for them at run time.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

/// Integers that stand for their distance from the zero point.
struct OnnxIntegers {
  ValueId codes = kNoValue;
  ValueId zero_point = kNoValue;  ///< kNoValue: 0.
};

/// The distances, as quantised values of scale 1; `axis` is that of zero points that are a vector.
ValueId EmitSteps(OnnxBuilder& b, const char* suffix, const OnnxIntegers& integers, int64_t axis);

/// The matrix product of distances in i32, as a helper value or, where `suffix` is null, ONNX output 0.
ValueId EmitIntegerMatMul(OnnxBuilder& b, const char* suffix, const OnnxIntegers& x, const OnnxIntegers& y);

/// u8 codes from the smallest number to the largest, and 0: as DynamicQuantizeLinear makes them.
struct DynamicCodes {
  ValueId codes = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;
};
/// The codes are ONNX output 0 where `suffix` is null.
DynamicCodes EmitDynamicCodes(OnnxBuilder& b, const char* suffix, ValueId x);

}  // namespace skiff
