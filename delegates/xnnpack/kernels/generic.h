// The kernels, in plain loops that the compiler vectorises. Included once by each translation unit that is
// compiled for an instruction set; SKIFF_KERNELS names the table that it defines, SKIFF_VNNI_KERNELS that of
// CPUs which have integer dot products besides, SKIFF_AMX_KERNELS that of those with AMX. Everything has
// internal linkage and no other header brings functions in (Arm's are always inlined): an inline function
// compiled for AVX-512 must never be the copy that the linker keeps.
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "delegates/xnnpack/kernels/kept.h"
#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

constexpr float kInfinityValue = __builtin_inff();

// Comparisons with the bound first let NaN through. Bounds that are constants belong into kBounds.
inline float Clamped(float x, float min, float max) {
  const float raised = x < min ? min : x;
  return raised > max ? max : raised;
}

// Bit patterns are unsigned: their differences may wrap around for a NaN or a negative number.
constexpr float FromBits(unsigned bits) { return __builtin_bit_cast(float, bits); }
constexpr unsigned ToBits(float x) { return __builtin_bit_cast(unsigned, x); }

// The polynomials below are minimax fits of the relative error.

/// (e^t - 1 - t) / t^2 on [-ln2/2, ln2/2].
inline float ExpTail(float t) {
  float p = 0x1.6a1a72p-10f;
  p = p * t + 0x1.123fc6p-7f;
  p = p * t + 0x1.555916p-5f;
  p = p * t + 0x1.55548ap-3f;
  return p * t + 0x1.fffffcp-2f;
}
/// e^t - 1 and e^t, there.
inline float ExpMinusOnePolynomial(float t) { return ExpTail(t) * t * t + t; }
inline float ExpPolynomial(float t) { return (ExpTail(t) * t + 1.0f) * t + 1.0f; }

constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLn2High = 0x1.62e4p-1f;
constexpr float kLn2Low = 0x1.7f7d1cp-20f;

/// e^x. Adding the magic number leaves round(x / ln2) in the low mantissa bits.
inline float Exp(float x) {
  constexpr float kMagic = 0x1.8p23f;
  const float bounded = Clamped(x, kBounds.exp_low, kBounds.exp_high);
  const float shifted = bounded * kLog2E + kMagic;
  const float n = shifted - kMagic;
  const float t = (bounded - n * kLn2High) - n * kLn2Low;
  // 2^n in two factors, so that neither under- nor overflows before the product does.
  const int exponent = static_cast<int>(ToBits(shifted) - ToBits(kMagic));
  const int half = exponent >> 1;
  return ExpPolynomial(t) * FromBits(static_cast<unsigned>(half + 127) << 23) *
         FromBits(static_cast<unsigned>(exponent - half + 127) << 23);
}

/// e^x for x <= 0, without subnormal results. The magic number also adds the exponent's bias.
inline float ExpOfNegative(float x) {
  constexpr float kMagic = 0x1.8p23f + 127.0f;
  constexpr float kSmallest = -0x1.5d589ep6f;
  const float shifted = x * kLog2E + kMagic;
  const float n = shifted - kMagic;
  const float t = (x - n * kLn2High) - n * kLn2Low;
  const float result = ExpPolynomial(t) * FromBits(ToBits(shifted) << 23);
  return x < kSmallest ? 0.0f : result;
}

/// 1 + e^-x: infinity below -88.4 and 1 above 87.3, so that what it divides becomes 0, or stays.
inline float OnePlusExpOfMinus(float x) {
  constexpr float kMagic = 0x1.8p23f + 127.0f;
  const float bounded = Clamped(x, kBounds.sigmoid_low, kBounds.sigmoid_high);
  const float shifted = kMagic - bounded * kLog2E;
  const float n = shifted - kMagic;
  const float t = (-bounded - n * kLn2High) - n * kLn2Low;
  return ExpPolynomial(t) * FromBits(ToBits(shifted) << 23) + 1.0f;
}

/// Natural logarithm: x = 2^n m with m in [sqrt(1/2), sqrt(2)).
inline float Log(float x) {
  constexpr float kSqrtHalf = 0x1.6a09e6p-1f;
  constexpr float kSmallestNormal = 0x1p-126f;
  const bool subnormal = x < kSmallestNormal;
  const float normal = subnormal ? x * 0x1p23f : x;
  const unsigned bits = ToBits(normal) - ToBits(kSqrtHalf);
  const float n = static_cast<float>(static_cast<int>(bits) >> 23) - (subnormal ? 23.0f : 0.0f);
  const float m = FromBits((bits & 0x7fffffu) + ToBits(kSqrtHalf)) - 1.0f;
  float p = 0x1.1457a2p-4f;
  p = p * m - 0x1.de3c14p-4f;
  p = p * m + 0x1.e6f06cp-4f;
  p = p * m - 0x1.fc2208p-4f;
  p = p * m + 0x1.233768p-3f;
  p = p * m - 0x1.555c4ep-3f;
  p = p * m + 0x1.99a4b6p-3f;
  p = p * m - 0x1.000006p-2f;
  p = p * m + 0x1.555548p-2f;
  const float square = m * m;
  const float tail = (p * m * square - 0x1.bd0106p-13f * n) - 0.5f * square;
  const float result = (m + tail) + 0.693359375f * n;
  const float special = x == 0.0f ? -kInfinityValue : (x == kInfinityValue ? x : __builtin_nanf(""));
  return x > 0.0f && x < kInfinityValue ? result : special;
}

/// A polynomial near zero and (1 - e^-2x) / (1 + e^-2x) elsewhere, both computed.
inline float Tanh(float x) {
  const float a = x < 0 ? -x : x;
  const float s = a * a;
  float p = -0x1.75e1cap-8f;
  p = p * s + 0x1.52269ap-6f;
  p = p * s - 0x1.b83c5ap-5f;
  p = p * s + 0x1.110726p-3f;
  p = p * s - 0x1.555532p-2f;
  const float near = p * s * a + a;
  const float e = ExpOfNegative(-2.0f * a);
  const float result = a < 0.625f ? near : (1.0f - e) / (1.0f + e);
  return x < 0 ? -result : result;
}

/// erf: an odd polynomial up to 0.921875, 1 - e^(polynomial) beyond.
inline float Erf(float x) {
  const float a = x < 0 ? -x : x;
  const float s = a * a;
  float near = 0x1.5f1138p-14f;
  near = near * s - 0x1.aae982p-11f;
  near = near * s + 0x1.54dad6p-8f;
  near = near * s - 0x1.b8107cp-6f;
  near = near * s + 0x1.ce2e20p-4f;
  near = near * s - 0x1.812744p-2f;
  near = near * s + 0x1.20dd76p+0f;
  const float b = a > 4.0f ? 4.0f : a;
  float far = 0x1.5d71e0p-16f;
  far = far * b - 0x1.c45916p-12f;
  far = far * b + 0x1.106252p-8f;
  far = far * b - 0x1.9aebb0p-6f;
  far = far * b + 0x1.bb4548p-4f;
  far = far * b + 0x1.444d1ep-1f;
  far = far * b + 0x1.212626p+0f;
  far = far * b - 0x1.62d8b6p-13f;
  const float result = a < 0.921875f ? near * a : 1.0f - ExpOfNegative(-far);
  return x < 0 ? -result : result;
}

using P = KernelParams;
inline float AbsOf(float x, const P&) { return __builtin_fabsf(x); }
inline float CeilOf(float x, const P&) { return __builtin_ceilf(x); }
inline float ClampOf(float x, const P& p) { return Clamped(x, p.min, p.max); }
inline float ExpOf(float x, const P&) { return Exp(x); }
/// alpha (e^x - 1) below zero: 2^n q + (2^n - 1), where q = e^t - 1 is exact near zero.
inline float EluOf(float x, const P& p) {
  constexpr float kMagic = 0x1.8p23f + 127.0f;
  const float bounded = x > 0 ? 0.0f : (x < -18.0f ? -18.0f : x);
  const float shifted = bounded * kLog2E + kMagic;
  const float n = shifted - kMagic;
  const float t = (bounded - n * kLn2High) - n * kLn2Low;
  const float scale = FromBits(ToBits(shifted) << 23);
  const float below = scale * ExpMinusOnePolynomial(t) + (scale - 1.0f);
  return x > 0 ? x : p.alpha * below;
}
inline float ErfOf(float x, const P&) { return Erf(x); }
inline float FloorOf(float x, const P&) { return __builtin_floorf(x); }
/// x (1/2 + h(x)), where h is half an error function: a rational one, a minimax fit of the absolute error
/// (5e-9) up to 5.4, which reaches 1/2 before 5.75. h is odd, so that x h(x) = |x| h(|x|).
inline float GeluOf(float x, const P&) {
  const float magnitude = __builtin_fabsf(x);
  const float a = magnitude > kBounds.gelu_high ? kBounds.gelu_high : magnitude;
  const float s = a * a;
  float above = 0x1.91c7e4p-26f;
  above = above * s + 0x1.aad06cp-18f;
  above = above * s + 0x1.589bcep-13f;
  above = above * s + 0x1.30cc62p-8f;
  above = above * s + 0x1.1162bap-5f;
  above = above * s + 0x1.988450p-2f;
  float below = 0x1.469382p-20f;
  below = below * s + 0x1.2fab4cp-14f;
  below = below * s + 0x1.e75252p-10f;
  below = below * s + 0x1.d0f4f4p-6f;
  below = below * s + 0x1.00535ap-2f;
  below = below * s + 1.0f;
  const float ratio = a * above / below;
  const float h = ratio > kBounds.half ? kBounds.half : ratio;
  return magnitude * h + 0.5f * x;
}
constexpr float kTwoSqrtTwoOverPi = 0x1.988454p+0f;
/// x (1 + tanh u) / 2 = x / (1 + e^-2u).
inline float GeluTanhOf(float x, const P&) {
  return x / OnePlusExpOfMinus(kTwoSqrtTwoOverPi * (x + 0.044715f * x * x * x));
}
inline float HardSigmoidOf(float x, const P& p) {
  return Clamped(p.alpha * x + p.beta, kBounds.zero, kBounds.one);
}
inline float HardSwishOf(float x, const P&) {
  return x * Clamped(x + 3.0f, kBounds.zero, kBounds.six) * 0x1.555556p-3f;
}
inline float LeakyReluOf(float x, const P& p) { return x < 0 ? p.alpha * x : x; }
inline float LogOf(float x, const P&) { return Log(x); }
inline float NegOf(float x, const P&) { return -x; }
inline float ReciprocalOf(float x, const P&) { return 1.0f / x; }
inline float RoundOf(float x, const P&) { return __builtin_rintf(x); }
inline float SigmoidOf(float x, const P&) { return 1.0f / OnePlusExpOfMinus(x); }
/// By its bits: comparisons take a subnormal number for 0. The sign of a NaN is NaN, and of a zero that zero.
inline float SignOf(float x, const P&) {
  const uint32_t magnitude = __builtin_bit_cast(uint32_t, x) << 1;
  constexpr uint32_t kInfinity = 0xff000000;
  return magnitude == 0 || magnitude > kInfinity ? x : __builtin_copysignf(1.0f, x);
}
inline float SiluOf(float x, const P&) { return x / OnePlusExpOfMinus(x); }
// The C library's are exact for arguments of any size; they are rare enough to stay scalar.
inline float CosOf(float x, const P&) { return __builtin_cosf(x); }
inline float SinOf(float x, const P&) { return __builtin_sinf(x); }
/// log(1 + e^x) so that the exponential cannot overflow, and log(1 + e) by its rounded argument u: the error
/// of u is that of e - (u - 1).
inline float SoftplusOf(float x, const P&) {
  const float e = ExpOfNegative(x < 0 ? x : -x);
  const float u = 1.0f + e;
  const float log = Log(u) + (e - (u - 1.0f)) / u;
  return x > 0 ? x + log : (x == x ? log : x);
}
inline float SqrtOf(float x, const P&) { return __builtin_sqrtf(x); }
inline float TanhOf(float x, const P&) { return Tanh(x); }

#include "delegates/xnnpack/kernels/tier.inc"
#if SKIFF_HAS_TILES
#include "delegates/xnnpack/kernels/exp.inc"
#endif

template <float (*kFunction)(float, const P&)>
void Unary(size_t n, const float* x, float* y, const P& params) {
#if SKIFF_HAS_TILES
  if constexpr (kVectorForm<kFunction> != nullptr) return UnaryVectors<kVectorForm<kFunction>>(n, x, y);
#endif
  const P p = params;
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] = kFunction(x[i], p);
}

inline float AddOf(float a, float b) { return a + b; }
inline float SubOf(float a, float b) { return a - b; }
inline float MulOf(float a, float b) { return a * b; }
inline float DivOf(float a, float b) { return a / b; }
// A NaN on either side stays.
inline float MinOf(float a, float b) { return a < b || a != a ? a : b; }
inline float MaxOf(float a, float b) { return a > b || a != a ? a : b; }
inline float PowOf(float a, float b) { return __builtin_powf(a, b); }
inline float PReluOf(float a, float b) { return a < 0 ? a * b : a; }

template <float (*kFunction)(float, float), int kScalar>
void Binary(size_t n, const float* a, const float* b, float* y, const P& params) {
  const float min = params.min;
  const float max = params.max;
  const float scalar = kScalar == 1 ? *a : (kScalar == 2 ? *b : 0.0f);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    y[i] = Clamped(kFunction(kScalar == 1 ? scalar : a[i], kScalar == 2 ? scalar : b[i]), min, max);
  }
}

#if defined(__x86_64__) || SKIFF_HAS_CONVOLUTIONS
#include "delegates/xnnpack/kernels/windows.inc"
#endif
#if defined(__x86_64__)
#include "delegates/xnnpack/kernels/pool.inc"

#include "delegates/xnnpack/kernels/max_pool.inc"
#endif
#if SKIFF_HAS_CONVOLUTIONS
#include "delegates/xnnpack/kernels/depthwise.inc"
#include "delegates/xnnpack/kernels/depthwise_any.inc"
#include "delegates/xnnpack/kernels/panels.inc"
#include "delegates/xnnpack/kernels/winograd.inc"
#endif
#if SKIFF_HAS_TILES
#include "delegates/xnnpack/kernels/dense.inc"
#include "delegates/xnnpack/kernels/one_row.inc"
#include "delegates/xnnpack/kernels/strassen.inc"
#endif
#include "delegates/xnnpack/kernels/code_outputs.inc"

#include "delegates/xnnpack/kernels/code_binary.inc"
#include "delegates/xnnpack/kernels/code_dense.inc"
#include "delegates/xnnpack/kernels/code_depthwise.inc"
#include "delegates/xnnpack/kernels/code_winograd.inc"
#include "delegates/xnnpack/kernels/codes.inc"
#include "delegates/xnnpack/kernels/depthwise_of_bytes.inc"
#if SKIFF_HAS_TILES
#include "delegates/xnnpack/kernels/few_bits_panels.inc"

#include "delegates/xnnpack/kernels/few_bits.inc"

#include "delegates/xnnpack/kernels/few_bits_of_codes.inc"
template <size_t kBits, bool kVnni>
consteval FewBitsKernels FewBitsOfTier() {
  FewBitsKernels kernels = kFewBits<kBits>;
  if constexpr (IsLowered(Op::kFakeQuantize) && (kVnni || kBits == 4))
    kernels.of_codes = &kFewBitsOfCodes<kBits, kVnni>;
  return kernels;
}
template <bool kVnni>
constexpr FewBitsKernels kFewBitsOfTier[] = {FewBitsOfTier<4, kVnni>(), FewBitsOfTier<8, kVnni>()};
#elif SKIFF_HAS_FEW_BITS
template <bool kVnni>
constexpr const FewBitsKernels* kFewBitsOfTier = kNeonFewBits;
#endif
#include "delegates/xnnpack/kernels/rows.inc"

#include "delegates/xnnpack/kernels/code_amx.inc"

constexpr bool kHasCodeSums =
    IsCodesLowered(Op::kAveragePool2d) || IsCodesLowered(Op::kReduceMean) || IsCodesLowered(Op::kReduceSum);
constexpr bool kHasCodeDense =
    IsCodesLowered(Op::kFullyConnected) || IsCodesLowered(Op::kMatMul) || IsCodesLowered(Op::kConv2d);
constexpr bool kHasCodeConvolution = IsCodesLowered(Op::kConv2d);
#if SKIFF_HAS_CODE_WINOGRAD
template <int kTile>
constexpr CodeWinogradKernels kCodeWinograd = {
    kTile, CodeWinograd<kTile>::kTimes, CodeWinograd<kTile>::kWeights,
    SKIFF_CODES_KEPT(Conv2d, CodeWinogradInput<kTile>), SKIFF_CODES_KEPT(Conv2d, CodeWinogradOutput<kTile>)};
constexpr bool kHalvesApart = kLanes == 4;  // NeonCodeSums()'.
#endif
#if SKIFF_HAS_CODE_TILES
// Of CPUs whose instructions multiply pairs.
template <bool kVnni>
constexpr CodeDenseFn kDenseOfNarrowBytes = kHasCodeDense && !kVnni ? CodeDense<NarrowFours> : nullptr;
template <bool kVnni>
constexpr CodeDenseFn kSums = kHasCodeConvolution || (IsLowered(Op::kFakeQuantize) && !kVnni)
                                  ? CodeDense<PairsOf<kVnni>, int32_t>
                                  : nullptr;
constexpr RowsOfSumsFn kRowsOfSums = IsLowered(Op::kFakeQuantize) ? RowsOfSums : nullptr;
// Of those whose instructions multiply bytes.
template <bool kVnni>
constexpr StackLinesFn kStackLines = kHasCodeConvolution&& kVnni ? StackLines : nullptr;
template <bool kVnni, int kSize, int kStride>
constexpr ByteDepthwiseFn kDepthwiseOfBytes =
    kHasCodeConvolution&& kVnni ? DepthwiseOfBytes<kSize, kStride> : nullptr;
#endif
#if SKIFF_HAS_TILES
constexpr bool kHasDense = IsLowered(Op::kFullyConnected) || IsLowered(Op::kMatMul) || IsLowered(Op::kConv2d);
#endif

}  // namespace

#define SKIFF_VNNI false
#if SKIFF_HAS_CODE_TILES
#define SKIFF_SUMS kSums<false>
#elif SKIFF_HAS_CODE_WINOGRAD
#define SKIFF_SUMS SKIFF_CODES_KEPT(Conv2d, NeonCodeSums)
#else
#define SKIFF_SUMS nullptr
#endif
#define SKIFF_DENSE_OF_BYTES nullptr
#define SKIFF_SUMS_OF_BYTES nullptr
#include "delegates/xnnpack/kernels/table.inc"
#if defined(SKIFF_VNNI_KERNELS)
#undef SKIFF_KERNELS
#undef SKIFF_KERNELS_NAME
#undef SKIFF_VNNI
#undef SKIFF_DENSE_OF_BYTES
#define SKIFF_KERNELS SKIFF_VNNI_KERNELS
#define SKIFF_KERNELS_NAME SKIFF_VNNI_KERNELS_NAME
#define SKIFF_VNNI true
#undef SKIFF_SUMS
#define SKIFF_SUMS kSums<true>
#undef SKIFF_SUMS_OF_BYTES
#define SKIFF_DENSE_OF_BYTES kHasCodeDense ? CodeDense<Fours> : nullptr
#define SKIFF_SUMS_OF_BYTES IsLowered(Op::kFakeQuantize) ? CodeDense<Fours, int32_t> : nullptr
#include "delegates/xnnpack/kernels/table.inc"
#endif
#if defined(SKIFF_AMX_KERNELS)
#undef SKIFF_KERNELS
#undef SKIFF_KERNELS_NAME
#undef SKIFF_DENSE_OF_BYTES
#define SKIFF_KERNELS SKIFF_AMX_KERNELS
#define SKIFF_KERNELS_NAME SKIFF_AMX_KERNELS_NAME
#undef SKIFF_SUMS
#define SKIFF_SUMS nullptr
#undef SKIFF_SUMS_OF_BYTES
#define SKIFF_DENSE_OF_BYTES kHasCodeDense ? CodeDenseOfTiles<uint8_t> : nullptr
#define SKIFF_SUMS_OF_BYTES IsLowered(Op::kFakeQuantize) ? CodeDenseOfTiles<int32_t> : nullptr
#include "delegates/xnnpack/kernels/table.inc"
#endif

}  // namespace skiff::xnnpack
