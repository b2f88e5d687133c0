// Comparisons, choices, masks and conversions between types. They wait for memory, not for arithmetic: the
// baseline's vectors are enough.
#include <type_traits>

#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

struct Equal {
  template <class T>
  static bool Of(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <class T>
  static bool Of(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  static bool Of(T a, T b) {
    return a <= b;
  }
};

template <class Relation, class T, int kScalar>
void Compare(size_t n, const void* a, const void* b, uint8_t* y) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  const T scalar = kScalar == 1 ? *left : (kScalar == 2 ? *right : T(0));
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    y[i] = Relation::Of(kScalar == 1 ? scalar : left[i], kScalar == 2 ? scalar : right[i]) ? 1 : 0;
  }
}

struct And {
  static uint8_t Of(uint8_t a, uint8_t b) { return a & b; }
};
struct Or {
  static uint8_t Of(uint8_t a, uint8_t b) { return a | b; }
};
struct Xor {
  static uint8_t Of(uint8_t a, uint8_t b) { return a ^ b; }
};

template <class Function, int kScalar>
void Logic(size_t n, const uint8_t* a, const uint8_t* b, uint8_t* y) {
  const uint8_t scalar = kScalar == 1 ? *a : (kScalar == 2 ? *b : uint8_t{0});
#pragma omp simd
  for (size_t i = 0; i < n; ++i)
    y[i] = Function::Of(kScalar == 1 ? scalar : a[i], kScalar == 2 ? scalar : b[i]);
}

/// kScalars: bit 0, a is one value; bit 1, b is one value.
template <class T, int kScalars>
void Choose(size_t n, const uint8_t* condition, const void* a, const void* b, void* y) {
  const auto* yes = static_cast<const T*>(a);
  const auto* no = static_cast<const T*>(b);
  auto* out = static_cast<T*>(y);
  const T first_yes = *yes;
  const T first_no = *no;
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const T one = (kScalars & 1) != 0 ? first_yes : yes[i];
    const T other = (kScalars & 2) != 0 ? first_no : no[i];
    out[i] = condition[i] != 0 ? one : other;
  }
}

template <class From, class To>
void Convert(size_t n, const void* x, void* y) {
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<To*>(y);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

/// By its bits: comparisons take a subnormal number for 0.
template <class T>
bool IsNotZero(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_bit_cast(uint32_t, x) << 1 != 0;
  if constexpr (std::is_same_v<T, double>) return __builtin_bit_cast(uint64_t, x) << 1 != 0;
  return x != T(0);
}

template <class From>
void ToBool(size_t n, const void* x, void* y) {
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<uint8_t*>(y);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) to[i] = IsNotZero(from[i]) ? 1 : 0;
}

void Not(size_t n, const void* x, void* y) {
  const auto* from = static_cast<const uint8_t*>(x);
  auto* to = static_cast<uint8_t*>(y);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) to[i] = from[i] == 0 ? 1 : 0;
}

/// The largest integer, as a float, is rounded up by one to a power of two: what reaches it does not fit.
template <class To, class From = float>
void Truncate(size_t n, const void* x, void* y) {
  constexpr bool kSigned = static_cast<To>(-1) < To(0);
  constexpr int kBits = 8 * sizeof(To) - (kSigned ? 1 : 0);
  constexpr From kEnd = kBits == 63 ? From(0x1p63) : static_cast<From>(1ull << (kBits % 64));
  constexpr From kLow = kSigned ? -kEnd : From(0);
  constexpr To kSmallest = kSigned ? static_cast<To>(1ull << (kBits % 64)) : To(0);
  constexpr To kLargest = static_cast<To>(~kSmallest);
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<To*>(y);
  for (size_t i = 0; i < n; ++i) {
    const From value = from[i];
    const bool fits = value > kLow && value < kEnd;
    const To inside = static_cast<To>(fits ? value : From(0));
    to[i] = fits ? inside : (value >= kEnd ? kLargest : (value <= kLow ? kSmallest : To(0)));
  }
}

}  // namespace

#define SKIFF_FORMS(kernel, ...) \
  { kernel<__VA_ARGS__, 0>, kernel<__VA_ARGS__, 1>, kernel<__VA_ARGS__, 2> }
#define SKIFF_CHOOSE(T) \
  { Choose<T, 0>, Choose<T, 1>, Choose<T, 2>, Choose<T, 3> }

/// By type of the elements.
template <class Relation>
struct Comparisons {
  static constexpr CompareForms kOf[static_cast<size_t>(CompareType::kCount)] = {
#define COMPARED(Name, Type) SKIFF_FORMS(Compare, Relation, Type),
#include "delegates/xnnpack/kernels/kernels.def"
  };
};

const CompareForms* const kCompareKernels[static_cast<size_t>(Relation::kCount)] = {
#define COMPARE(Relation) Comparisons<Relation>::kOf,
#include "delegates/xnnpack/kernels/kernels.def"
};

const LogicFn kLogicKernels[static_cast<size_t>(LogicKernel::kCount)][kForms] = {
#define LOGIC(Operator) SKIFF_FORMS(Logic, Operator),
#include "delegates/xnnpack/kernels/kernels.def"
};

const ChooseFn kChooseKernels[4][4] = {SKIFF_CHOOSE(uint8_t), SKIFF_CHOOSE(uint16_t), SKIFF_CHOOSE(uint32_t),
                                       SKIFF_CHOOSE(uint64_t)};

const ConvertFn kConvertKernels[static_cast<size_t>(ConvertKernel::kCount)] = {
#define CONVERT(Kernel, ...) __VA_ARGS__,
#include "delegates/xnnpack/kernels/kernels.def"
};

}  // namespace skiff::xnnpack
