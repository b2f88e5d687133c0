#include "import/onnx/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace skiff {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float WidenBFloat16(uint32_t code) { return std::bit_cast<float>(code << 16); }

/// A sign, an exponent, kMantissa bits, `kBits` in all. Where kIeee, the largest exponent is that of
/// infinities and NaN; else it is one like others, and kNotNumber (without the sign, unless it is the zero's)
/// the only NaN; 0: there is none.
template <int kBits, int kMantissa, int kBias, bool kIeee, uint32_t kNotNumber>
float WidenFloat(uint32_t code) {
  constexpr uint32_t kSign = 1u << (kBits - 1);
  constexpr uint32_t kLargestExponent = (kSign >> kMantissa) - 1;
  const uint32_t magnitude = code & (kSign - 1);
  const bool negative = (code & kSign) != 0;
  const uint32_t exponent = magnitude >> kMantissa;
  const uint32_t mantissa = magnitude & ((1u << kMantissa) - 1);
  if (kNotNumber != 0 && (kNotNumber == kSign ? code : magnitude) == kNotNumber) return kNaN;
  float number = 0;
  if (kIeee && exponent == kLargestExponent) {
    number = mantissa == 0 ? kInfinity : kNaN;
  } else if (exponent == 0) {
    number = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa);
  } else {
    number = std::ldexp(static_cast<float>(mantissa + (1u << kMantissa)),
                        static_cast<int>(exponent) - kBias - kMantissa);
  }
  return negative ? -number : number;
}

float WidenPowerOfTwo(uint32_t code) {
  return code == 255 ? kNaN : std::ldexp(1.0f, static_cast<int>(code) - 127);
}

template <uint32_t kSign>
float WidenInteger(uint32_t code) {
  return static_cast<float>(static_cast<int32_t>(code ^ kSign) - static_cast<int32_t>(kSign));
}

constexpr DType kNoDType = DType::kInvalid;
constexpr DType kF32 = DType::kF32;

// The numbers are ONNX's file format; those without a DType are listed for their names.
constexpr OnnxType kTypes[] = {
    {0, "undefined", kNoDType, kNoDType},
    {1, "float32", kF32, kF32},
    {2, "uint8", DType::kU8, DType::kU8},
    {3, "int8", DType::kI8, DType::kI8},
    {4, "uint16", DType::kU16, DType::kU16},
    {5, "int16", DType::kI16, DType::kI16},
    {6, "int32", DType::kI32, DType::kI32},
    {7, "int64", DType::kI64, DType::kI64},
    {8, "string", kNoDType, kNoDType},
    {9, "bool", DType::kBool, DType::kBool},
    {10, "float16", DType::kF16, DType::kF16},
    {11, "float64", DType::kF64, DType::kF64},
    {12, "uint32", DType::kU32, DType::kU32},
    {13, "uint64", DType::kU64, DType::kU64},
    {14, "complex64", kNoDType, kNoDType},
    {15, "complex128", kNoDType, kNoDType},
    {16, "bfloat16", kF32, kF32, 16, WidenBFloat16},
    {17, "float8e4m3fn", kF32, kF32, 8, WidenFloat<8, 3, 7, false, 0x7F>, FloatFormat::kFloat8E4M3Fn},
    {18, "float8e4m3fnuz", kF32, kF32, 8, WidenFloat<8, 3, 8, false, 0x80>, FloatFormat::kFloat8E4M3Fnuz},
    {19, "float8e5m2", kF32, kF32, 8, WidenFloat<8, 2, 15, true, 0>, FloatFormat::kFloat8E5M2},
    {20, "float8e5m2fnuz", kF32, kF32, 8, WidenFloat<8, 2, 16, false, 0x80>, FloatFormat::kFloat8E5M2Fnuz},
    {21, "uint4", DType::kU8, DType::kU4},
    {22, "int4", DType::kI8, DType::kI4},
    {23, "float4e2m1", kF32, kF32, 4, WidenFloat<4, 1, 1, false, 0>, FloatFormat::kFloat4E2M1Fn},
    {24, "float8e8m0", kF32, kF32, 8, WidenPowerOfTwo, FloatFormat::kFloat8E8M0Fnu},
    {25, "uint2", DType::kU8, DType::kU8, 2, WidenInteger<0>},
    {26, "int2", DType::kI8, DType::kI8, 2, WidenInteger<2>}};

}  // namespace

const OnnxType* FindOnnxType(int32_t onnx) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const OnnxType& row) { return row.onnx == onnx; });
  return found == std::end(kTypes) ? nullptr : found;
}

const OnnxType& OnnxTypeOfDType(DType dtype) {
  // The first one with the dtype: those that stand as wider ones come last.
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const OnnxType& row) { return row.dtype == dtype || row.constant == dtype; });
}

DType DTypeOfOnnx(int32_t onnx) {
  const OnnxType* row = FindOnnxType(onnx);
  return row == nullptr ? kNoDType : row->dtype;
}

std::string OnnxTypeName(int32_t onnx) {
  const OnnxType* row = FindOnnxType(onnx);
  return row == nullptr ? fmt::format("number {}", onnx) : row->name;
}

bool StandsAsWider(const OnnxType& type) {
  return type.dtype != kNoDType && &OnnxTypeOfDType(type.dtype) != &type;
}

int SmallIntegerBits(const OnnxType& type) {
  if (IsFloat(type.dtype)) return 0;
  return type.widen != nullptr ? type.bits : DTypeBits(type.constant) % 8;
}

}  // namespace skiff
