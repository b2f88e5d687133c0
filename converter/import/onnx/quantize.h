/// Between ONNX's integers, whose scale and zero point are tensors beside them, and quantised values, which
/// know theirs. Where these are constants, ToCodes and FromCodes stand between the two; where they are
/// computed, or are none that a value can have, the specification's arithmetic is written out.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

/// What integers stand for, as ONNX says it.
struct OnnxQuantization {
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;  ///< kNoValue: 0.
  int64_t axis = 1;               ///< Of a vector of scales; negative ones count from the back.
  int64_t block = 0;  ///< So many neighbours along the axis share a scale; 0: scales are no blocks.
};

/// As a property of integers of this dtype in the shape of `like`; null where it is not known, or invalid.
QuantizationPtr KnownQuantization(OnnxBuilder& b, ValueId like, DType dtype, const OnnxQuantization& from);

/// Constant integers of 4 or 8 bits that stand for what `codes` do `as` that says, of scales that a value can
/// have: below a scale under 0 they count from the other end, and below one of 0 all are the zero point.
/// Nothing where that is not what `as` lacks.
std::optional<TensorData> QuantizedConstant(const TensorData& codes, const QuantizationPtr& as);

/// The numbers that plain integers stand for, as a helper value; as ONNX output 0 where `suffix` is null.
ValueId EmitReal(OnnxBuilder& b, const char* suffix, ValueId codes, const OnnxQuantization& from,
                 DType dtype = DType::kF32);

/// The nearest integers of `dtype` that stand for x, as a helper value or ONNX output 0. What is divided by
/// the scale, where it is computed, is of `precision`.
ValueId EmitCodes(OnnxBuilder& b, const char* suffix, ValueId x, DType dtype, const OnnxQuantization& to,
                  DType precision = DType::kF32);

/// x in units of the scale, from the zero point on, in f32. `suffix` begins the names of helper values.
/// `whole`: rounded to integers before the zero point is added.
ValueId EmitSteps(OnnxBuilder& b, const char* suffix, ValueId x, const OnnxQuantization& to, DType precision,
                  bool whole);

/// A value by element of an axis (or of blocks) with the axes of `like`, so that it is broadcast along them.
ValueId EmitAlong(OnnxBuilder& b, const char* suffix, ValueId factor, ValueId like,
                  const OnnxQuantization& of);

/// The scale of a product of two factors, times a number: in f32, which is known where those of the factors
/// are.
ValueId EmitProductOfScales(OnnxBuilder& b, const char* suffix, ValueId x, ValueId y, float times = 1);

}  // namespace skiff
