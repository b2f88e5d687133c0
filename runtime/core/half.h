/// IEEE 754 binary16 in software: the reference kernels compute in f32 or wider and only store in f16.
#pragma once

#include <bit>
#include <cstdint>

namespace skiff {

/// Exact, NaNs included. Without branches, so that compilers can do several at once.
inline float HalfToFloat(uint16_t half) {
  constexpr uint32_t kBiasChange = 112u << 23;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  // Zero or subnormal: magnitude times 2^-24.
  const auto tiny = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t normal = (magnitude << 13) + kBiasChange;
  const uint32_t finite = magnitude < 0x400u ? tiny : normal;
  return std::bit_cast<float>(sign | (magnitude < 0x7c00u ? finite : normal + kBiasChange));
}

/// Rounds to nearest, ties to even; overflow becomes infinity; a NaN stays a quiet NaN.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | static_cast<uint16_t>((magnitude >> 13) & 0x3ffu);
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {  // Subnormal in f16: adding 0.5 lets the FPU round at the 2^-24 place.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  const uint32_t half = (rounded - 0x38000000u) >> 13;
  return sign | static_cast<uint16_t>(half > 0x7c00u ? 0x7c00u : half);
}

/// A distinct type, so that templates over storage types can tell f16 from u16.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(FloatToHalf(value)) {}
  explicit operator float() const { return HalfToFloat(bits); }
};
static_assert(sizeof(Half) == 2);

}  // namespace skiff
