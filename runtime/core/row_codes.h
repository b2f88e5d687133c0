/// Codes that follow from the numbers themselves, as FakeQuantize chooses them for a row.
#pragma once

#include <cmath>
#include <limits>

namespace skiff {

inline constexpr int kHighestRowCode = 127;
/// Symmetric codes have one less, so that as many are below 0 as above.
inline constexpr int LowestRowCode(bool symmetric) {
  return symmetric ? -kHighestRowCode : -kHighestRowCode - 1;
}

/// A code stands for scale * (code - zero_point); the codes of i8.
template <class T>
struct RowCodes {
  T scale = 1;
  T zero_point = 0;  ///< A whole number.
  T low = 0;
  T high = kHighestRowCode;
};

/// `low` and `high`: the smallest and the largest number of the row, or NaN where one is among them. With an
/// infinity or NaN no number of the row has a code: scale * anything is NaN then.
/// The arithmetic is that of ONNX's DynamicQuantizeLinear, 128 codes further down, and where `symmetric` that
/// of TensorFlow Lite's symmetric inputs.
template <class T>
RowCodes<T> RowCodesFor(T low, T high, bool symmetric) {
  RowCodes<T> codes;
  codes.low = LowestRowCode(symmetric);
  low = low > 0 ? 0 : low;
  high = high < 0 ? 0 : high;
  if (symmetric) {
    codes.scale = (-low > high ? -low : high) / codes.high;
  } else {
    codes.scale = (high - low) / 255;
  }
  // Numbers that are all 0, or as good as that: a subnormal scale would divide by zero where these are none.
  if (codes.scale < std::numeric_limits<T>::min()) codes.scale = 1;
  if (symmetric) return codes;
  const T from_low = 0 - low / codes.scale;
  const T known = from_low > 0 ? (from_low < 255 ? from_low : 255) : 0;
  codes.zero_point = std::nearbyint(known) + codes.low;
  return codes;
}

}  // namespace skiff
