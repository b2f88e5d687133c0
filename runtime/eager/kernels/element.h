/// How reference kernels see elements: every dtype is loaded into one of three lane types, computed there,
/// and rounded or wrapped once on the way back.
///
///   double    f32, f16, f64: more precise than the two narrow ones, so storing rounds once.
///   int64_t   i8 ... i64, u8 ... u32, bool: exact; storing keeps the low bits, which is wrapping.
///   uint64_t  u64.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/half.h"
#include "skiff/tensor.h"

namespace skiff::eager {

/// Elements that a kernel holds in lanes at a time, on the stack.
inline constexpr int64_t kChunk = 256;

/// The storage type of kBool.
enum class Bool : uint8_t { kFalse = 0, kTrue = 1 };

inline double ToDouble(float value) { return static_cast<double>(value); }
inline double ToDouble(double value) { return value; }
inline double ToDouble(Half value) { return static_cast<double>(static_cast<float>(value)); }

/// `value` as a float whose last bit is set where that is inexact ("round to odd"). Rounding such a float
/// once more, to fewer bits, gives what rounding `value` itself would have given.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  const double back = static_cast<double>(nearest);
  if (back == value || std::isnan(value) || (bits & 1u) != 0) return nearest;
  return std::bit_cast<float>(std::fabs(value) > std::fabs(back) ? bits + 1 : bits - 1);
}

template <class Lane, class T>
Lane Load(T element) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<Lane>(ToDouble(element));
  } else {
    return static_cast<Lane>(element);
  }
}

template <class T, class Lane>
T Store(Lane lane) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half(RoundToOdd(static_cast<double>(lane)));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return lane != Lane(0) ? Bool::kTrue : Bool::kFalse;
  } else {
    return static_cast<T>(lane);
  }
}

/// Loads `count` elements that lie `stride` elements apart, beginning `offset` elements after `base`.
template <class Lane>
using LoadFn = void (*)(const void* base, int64_t offset, int64_t stride, int64_t count, Lane* lanes);
/// Stores `count` lanes side by side.
template <class Lane>
using StoreFn = void (*)(void* base, int64_t offset, int64_t count, const Lane* lanes);

template <class Lane, class T>
void LoadLanes(const void* base, int64_t offset, int64_t stride, int64_t count, Lane* lanes) {
  const T* elements = static_cast<const T*>(base) + offset;
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) lanes[i] = Load<Lane>(elements[i]);
  } else if (stride == 0) {
    const Lane lane = Load<Lane>(*elements);
    for (int64_t i = 0; i < count; ++i) lanes[i] = lane;
  } else {
    for (int64_t i = 0; i < count; ++i) lanes[i] = Load<Lane>(elements[i * stride]);
  }
}

template <class Lane, class T>
void StoreLanes(void* base, int64_t offset, int64_t count, const Lane* lanes) {
  T* elements = static_cast<T*>(base) + offset;
  for (int64_t i = 0; i < count; ++i) elements[i] = Store<T>(lanes[i]);
}

/// A clamp in lanes. Integer bounds are the tightest integers inside the float ones. NaN passes through.
template <class Lane>
struct LaneClamp {
  Lane low = std::numeric_limits<Lane>::lowest();
  Lane high = std::numeric_limits<Lane>::max();
  bool active = false;

  LaneClamp(float min, float max) {
    active = min > -std::numeric_limits<float>::infinity() || max < std::numeric_limits<float>::infinity();
    if constexpr (std::is_same_v<Lane, double>) {
      low = static_cast<double>(min);
      high = static_cast<double>(max);
    } else {
      low = Saturate(std::ceil(static_cast<double>(min)), low);
      high = Saturate(std::floor(static_cast<double>(max)), high);
    }
  }

  Lane operator()(Lane value) const {
    const Lane raised = value < low ? low : value;
    return raised > high ? high : raised;
  }

  void Apply(Lane* lanes, int64_t count) const {
    if (!active) return;
    for (int64_t i = 0; i < count; ++i) lanes[i] = (*this)(lanes[i]);
  }

 private:
  /// 2^63 and 2^64 are exact as doubles although the largest integers are not.
  static Lane Saturate(double bound, Lane if_nan) {
    if (std::isnan(bound)) return if_nan;
    if (bound < static_cast<double>(std::numeric_limits<Lane>::lowest()))
      return std::numeric_limits<Lane>::lowest();
    if (bound >= static_cast<double>(std::numeric_limits<Lane>::max()))
      return std::numeric_limits<Lane>::max();
    return static_cast<Lane>(bound);
  }
};

}  // namespace skiff::eager
