#include "delegates/xnnpack/lower/quantized/joined_groups.h"

#include <algorithm>
#include <cstring>

namespace skiff::xnnpack {

size_t GroupsToJoin(size_t groups, size_t inputs, size_t outputs, size_t most) {
  size_t joined = 1;
  while (groups % (2 * joined) == 0 && 2 * joined * std::max(inputs, outputs) <= most) joined *= 2;
  return joined;
}

Status JoinWeights(const TensorView& weights, size_t groups, size_t joined, FixedArray<int8_t>* to) {
  const auto inputs = static_cast<size_t>(weights.shape[3]);
  const auto taps = static_cast<size_t>(weights.shape.ElementsBetween(1, 3));
  const auto outputs = static_cast<size_t>(weights.shape[0]);
  SKIFF_RETURN_IF_ERROR(to->Allocate(outputs * taps * inputs * joined));
  const auto* from = weights.as<const int8_t>();
  int8_t* at = to->data();
  for (size_t output = 0; output < outputs; ++output) {
    const size_t place = output / (outputs / groups) % joined;  // Its group's among those that are one.
    for (size_t tap = 0; tap < taps; ++tap, from += inputs, at += inputs * joined)
      std::memcpy(at + place * inputs, from, inputs);
  }
  return OkStatus();
}

}  // namespace skiff::xnnpack
