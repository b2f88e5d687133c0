// Comparisons, choices, masks and conversions between types. They wait for memory, not for arithmetic: the
// baseline's vectors are enough.
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

template <class From>
void ToBool(size_t n, const void* x, void* y) {
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<uint8_t*>(y);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) to[i] = from[i] != From(0) ? 1 : 0;
}

void Not(size_t n, const void* x, void* y) {
  const auto* from = static_cast<const uint8_t*>(x);
  auto* to = static_cast<uint8_t*>(y);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) to[i] = from[i] == 0 ? 1 : 0;
}

/// The largest integer, as a float, is rounded up by one to a power of two: what reaches it does not fit.
template <class To>
void Truncate(size_t n, const void* x, void* y) {
  constexpr bool kSigned = static_cast<To>(-1) < To(0);
  constexpr int kBits = 8 * sizeof(To) - (kSigned ? 1 : 0);
  constexpr float kEnd = kBits == 63 ? 0x1p63f : static_cast<float>(1ull << (kBits % 64));
  constexpr float kLow = kSigned ? -kEnd : 0.0f;
  constexpr To kSmallest = kSigned ? static_cast<To>(1ull << (kBits % 64)) : To(0);
  constexpr To kLargest = static_cast<To>(~kSmallest);
  const auto* from = static_cast<const float*>(x);
  auto* to = static_cast<To*>(y);
  for (size_t i = 0; i < n; ++i) {
    const float value = from[i];
    const bool fits = value > kLow && value < kEnd;
    const To inside = static_cast<To>(fits ? value : 0.0f);
    to[i] = fits ? inside : (value >= kEnd ? kLargest : (value <= kLow ? kSmallest : To(0)));
  }
}

}  // namespace

#define SKIFF_FORMS(kernel, ...) \
  { kernel<__VA_ARGS__, 0>, kernel<__VA_ARGS__, 1>, kernel<__VA_ARGS__, 2> }
#define SKIFF_COMPARE(relation)                                                          \
  {                                                                                      \
    SKIFF_FORMS(Compare, relation, float), SKIFF_FORMS(Compare, relation, int32_t),      \
        SKIFF_FORMS(Compare, relation, int64_t), SKIFF_FORMS(Compare, relation, uint8_t) \
  }
#define SKIFF_CHOOSE(T) \
  { Choose<T, 0>, Choose<T, 1>, Choose<T, 2>, Choose<T, 3> }

const CompareFn kCompareKernels[static_cast<size_t>(Relation::kCount)][static_cast<size_t>(
    CompareType::kCount)][kForms] = {SKIFF_COMPARE(Equal), SKIFF_COMPARE(Less), SKIFF_COMPARE(LessOrEqual)};

const LogicFn kLogicKernels[static_cast<size_t>(LogicKernel::kCount)][kForms] = {
    SKIFF_FORMS(Logic, And), SKIFF_FORMS(Logic, Or), SKIFF_FORMS(Logic, Xor)};

const ChooseFn kChooseKernels[4][4] = {SKIFF_CHOOSE(uint8_t), SKIFF_CHOOSE(uint16_t), SKIFF_CHOOSE(uint32_t),
                                       SKIFF_CHOOSE(uint64_t)};

const ConvertFn kConvertKernels[static_cast<size_t>(ConvertKernel::kCount)] = {
    Convert<uint8_t, float>,
    Convert<uint8_t, int32_t>,
    Convert<uint8_t, int64_t>,
    Convert<int32_t, float>,
    Convert<int32_t, int64_t>,
    ToBool<int32_t>,
    Convert<int64_t, float>,
    Convert<int64_t, int32_t>,
    ToBool<int64_t>,
    Truncate<int32_t>,
    Truncate<int64_t>,
    Truncate<uint8_t>,
    ToBool<float>,
    Not,
};

}  // namespace skiff::xnnpack
