/// One function for each lowering of quantized.def, and what they share.
#pragma once

#include "core/code_range.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "skiff/quantization.h"

namespace skiff::vulkan {

/// What shaders take elements for (shaders/codes.glsl).
inline constexpr uint32_t kReals = 0;
inline constexpr uint32_t kI8Codes = 1;
inline constexpr uint32_t kU8Codes = 2;
/// Of the shader `codes` alone: f32, whatever the storage type.
inline constexpr uint32_t kSingles = 3;
uint32_t KindOf(const TensorView& view);

/// A factor as shaders/codes.glsl has it: the leading 12 bits, and what is left.
struct PairOfFloats {
  explicit PairOfFloats(double value) : high(static_cast<float>(value)) {
    uint32_t bits = 0;
    std::memcpy(&bits, &high, sizeof(bits));
    bits &= 0xFFFFF000u;
    std::memcpy(&high, &bits, sizeof(bits));
    low = static_cast<float>(value - static_cast<double>(high));
  }
  float high;
  float low;
};

/// Real numbers (kReals or kSingles) to codes as `codes` has them, or from such codes.
Status EmitToCodes(Emitter& emit, uint32_t kind, const Operand& from, const Operand& to,
                   const TensorView& codes);
Status EmitFromCodes(Emitter& emit, uint32_t kind, const Operand& from, const Operand& to,
                     const TensorView& codes);

// codes.cpp
Status LowerQuantizedToCodes(Emitter& emit);
Status LowerQuantizedFromCodes(Emitter& emit);
Status LowerQuantizedLookup(Emitter& emit);
Status LowerQuantizedReals(Emitter& emit);
Status LowerQuantizedResize2d(Emitter& emit);
// product.cpp
Status LowerQuantizedConv2d(Emitter& emit);
Status LowerQuantizedConvTranspose2d(Emitter& emit);
Status LowerQuantizedFullyConnected(Emitter& emit);
Status LowerQuantizedMatMul(Emitter& emit);
// elementwise.cpp
Status LowerQuantizedBinary(Emitter& emit);
Status LowerQuantizedMaxPool2d(Emitter& emit);
Status LowerQuantizedAveragePool2d(Emitter& emit);

}  // namespace skiff::vulkan
