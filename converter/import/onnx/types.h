/// ONNX's element types as DTypes. Those of which Skiff has none stand as wider ones that hold all of their
/// numbers: floats of 16 bits (bfloat16), 8 and 4 bits as f32, integers of 4 and 2 bits as i8 and u8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/attrs.h"
#include "skiff/tensor.h"

namespace skiff {

struct OnnxType {
  int32_t onnx;  ///< TensorProto::DataType.
  const char* name;
  DType dtype;     ///< Of values; kInvalid: there is nothing that could stand for it.
  DType constant;  ///< Of constants, which may have four bits.
  /// Of elements that are widened when they are read: their bits, and the number that these are.
  int bits = 0;
  float (*widen)(uint32_t code) = nullptr;
  std::optional<FloatFormat> format = {};  ///< What a Cast to the type rounds to.
};

/// Null for a number that this build does not know.
const OnnxType* FindOnnxType(int32_t onnx);
/// The type that has the dtype itself.
const OnnxType& OnnxTypeOfDType(DType dtype);

/// Of values: kInvalid for element types that Skiff does not have.
DType DTypeOfOnnx(int32_t onnx);
/// "float16", "string", ...; the number for types that this build has no name for.
std::string OnnxTypeName(int32_t onnx);
/// Whether values of the type are of another type here.
bool StandsAsWider(const OnnxType& type);
/// Bits of an integer type of fewer than 8; 0 for all others.
int SmallIntegerBits(const OnnxType& type);

}  // namespace skiff
