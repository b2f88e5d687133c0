// Arithmetic on whole numbers and on f64, bit by bit what the reference kernels compute: indices, counts and
// what an importer has to compute exactly. The baseline's vectors are enough for it.
#include <cmath>
#include <type_traits>

#include "delegates/xnnpack/kernels/kept.h"
#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

/// Wraps around, which signed integers do not.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Add {
  template <class T>
  static T Of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Sub {
  template <class T>
  static T Of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct Mul {
  template <class T>
  static T Of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct Div {
  template <class T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (b == -1) return Sub::Of<T>(0, a);
    }
    return a / b;
  }
};
template <class T>
bool IsNaN(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(x);
  }
}

// Comparisons with NaN are false: one in b falls through to b, one in a must be asked for.
struct Min {
  template <class T>
  static T Of(T a, T b) {
    return a < b || IsNaN(a) ? a : b;
  }
};
struct Max {
  template <class T>
  static T Of(T a, T b) {
    return b < a || IsNaN(a) ? a : b;
  }
};
struct Remainder {
  template <class T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return b == 0 || b == -1 ? 0 : a % b;
    } else {
      return std::fmod(a, b);
    }
  }
};
struct Modulo {
  template <class T>
  static T Of(T a, T b) {
    const T rest = Remainder::Of(a, b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
  }
};

template <class Operator, class T, int kScalar>
void Compute(size_t n, const void* a, const void* b, void* y) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  auto* to = static_cast<T*>(y);
  const T scalar = kScalar == 1 ? *left : (kScalar == 2 ? *right : T(0));
  for (size_t i = 0; i < n; ++i)
    to[i] = Operator::Of(kScalar == 1 ? scalar : left[i], kScalar == 2 ? scalar : right[i]);
}

template <class T>
T AbsOf(T x, const NumberLimits&) {
  if constexpr (std::is_integral_v<T>) {
    return x < 0 ? Sub::Of<T>(0, x) : x;
  } else {
    return std::fabs(x);
  }
}
template <class T>
T NegOf(T x, const NumberLimits&) {
  if constexpr (std::is_integral_v<T>) {
    return Sub::Of<T>(0, x);
  } else {
    return -x;
  }
}
/// The sign of a NaN is NaN, and of a zero that zero.
template <class T>
T SignOf(T x, const NumberLimits&) {
  if constexpr (std::is_same_v<T, double>) {  // By its bits: comparisons take a subnormal number for 0.
    const uint64_t magnitude = __builtin_bit_cast(uint64_t, x) << 1;
    constexpr uint64_t kInfinity = uint64_t{0xffe} << 52;
    return magnitude == 0 || magnitude > kInfinity ? x : __builtin_copysign(1.0, x);
  }
  return x < T(0) ? T(-1) : (T(0) < x ? T(1) : x);
}
/// Limits that the type does not hold wrap around as the reference kernel's do.
template <class T>
T ClampOf(T x, const NumberLimits& limits) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t raised = x < limits.low ? limits.low : x;
    return static_cast<T>(raised > limits.high ? limits.high : raised);
  } else {
    const T raised = x < limits.real_low ? limits.real_low : x;
    return raised > limits.real_high ? limits.real_high : raised;
  }
}
template <class T>
T CeilOf(T x, const NumberLimits&) {
  return static_cast<T>(std::ceil(x));
}
template <class T>
T ExpOf(T x, const NumberLimits&) {
  return static_cast<T>(std::exp(x));
}
template <class T>
T FloorOf(T x, const NumberLimits&) {
  return static_cast<T>(std::floor(x));
}
template <class T>
T RoundOf(T x, const NumberLimits&) {
  return static_cast<T>(std::nearbyint(x));
}
template <class T>
T SqrtOf(T x, const NumberLimits&) {
  return static_cast<T>(std::sqrt(x));
}

template <class T, T (*kFunction)(T, const NumberLimits&)>
void Map(size_t n, const void* x, void* y, const NumberLimits& limits) {
  const auto* from = static_cast<const T*>(x);
  auto* to = static_cast<T*>(y);
  for (size_t i = 0; i < n; ++i) to[i] = kFunction(from[i], limits);
}

template <class Operator, bool kF32>
struct ArithmeticOf {
  template <class T>
  static constexpr ArithmeticFn Form(size_t form) {
    if (std::is_same_v<T, float> && !kF32) return nullptr;
    constexpr ArithmeticFn kByForm[kForms] = {Compute<Operator, T, 0>, Compute<Operator, T, 1>,
                                              Compute<Operator, T, 2>};
    return kByForm[form];
  }
  static constexpr ArithmeticForms kTypes[static_cast<size_t>(NumberType::kCount)] = {
#define NUMBER(Name, Type) {Form<Type>(0), Form<Type>(1), Form<Type>(2)},
#include "delegates/xnnpack/kernels/kernels.def"
  };
};

/// Of f64, and of integers where they have the function.
template <class T, T (*kFunction)(T, const NumberLimits&), bool kIntegers>
constexpr NumberFn FunctionOf() {
  if (std::is_same_v<T, float> || (std::is_integral_v<T> && !kIntegers)) return nullptr;
  return Map<T, kFunction>;
}

}  // namespace

const ArithmeticForms* const kArithmeticKernels[static_cast<size_t>(Arithmetic::kCount)] = {
#define ARITHMETIC(Kernel, Operator, f32) SKIFF_KEPT(Operator, ArithmeticOf<Kernel, f32>::kTypes),
#include "delegates/xnnpack/kernels/kernels.def"
};

// In the order of NumberType.
#define SKIFF_OF_TYPES(Operator, integers)                                          \
  SKIFF_KEPT(Operator, FunctionOf<int32_t, Operator##Of<int32_t>, integers>()),     \
      SKIFF_KEPT(Operator, FunctionOf<int64_t, Operator##Of<int64_t>, integers>()), \
      SKIFF_KEPT(Operator, FunctionOf<double, Operator##Of<double>, integers>()), nullptr

const NumberFn kNumberKernels[static_cast<size_t>(NumberFunction::kCount)]
                             [static_cast<size_t>(NumberType::kCount)] = {
#define FUNCTION(Operator, integers) {SKIFF_OF_TYPES(Operator, integers)},
#include "delegates/xnnpack/kernels/kernels.def"
};

/// Wins: whether x, which comes after `best`, takes its place. A NaN wins over numbers.
template <bool kMax, bool kLast>
struct Position {
  static bool Wins(float x, float best) {
    const bool beats = kMax ? x > best : x < best;
    const bool ties = kLast && x == best;
    return beats || ties || (x != x && (kLast || best == best));
  }
};

template <class Search>
void ArgColumns(size_t extent, size_t stride, size_t n, const float* x, float* best, int64_t* y) {
  for (size_t j = 0; j < n; ++j) {
    best[j] = x[j];
    y[j] = 0;
  }
  for (size_t i = 1; i < extent; ++i) {
    const float* row = x + i * stride;
    for (size_t j = 0; j < n; ++j) {
      const bool wins = Search::Wins(row[j], best[j]);
      best[j] = wins ? row[j] : best[j];
      y[j] = wins ? static_cast<int64_t>(i) : y[j];
    }
  }
}

const ArgColumnsFn kArgColumnsKernels[2][2] = {
    {ArgColumns<Position<false, false>>, ArgColumns<Position<false, true>>},
    {ArgColumns<Position<true, false>>, ArgColumns<Position<true, true>>},
};

}  // namespace skiff::xnnpack
