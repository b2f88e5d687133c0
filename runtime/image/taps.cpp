#include "image/taps.h"

#include <algorithm>
#include <cmath>

#include "image/pixel_rows.h"

namespace skiff {
namespace {

double Triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Keys' cubic convolution with a = -0.5.
double Cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

}  // namespace

Status Taps::Make(ImageFilter filter, const LineWindow& window) {
  if (filter == filter_ && window == window_) return OkStatus();
  window_ = {};  // What follows may fail.
  const bool cubic = filter == ImageFilter::kBicubic;
  const double ratio = static_cast<double>(window.source) / static_cast<double>(window.target);
  const double stretch = std::max(ratio, 1.0);
  const double reach = (cubic ? 2.0 : 1.0) * stretch;
  most_ = static_cast<uint32_t>(std::ceil(reach)) * 2 + 1;
  SKIFF_RETURN_IF_ERROR(AtLeast(window.count, firsts_));
  SKIFF_RETURN_IF_ERROR(AtLeast(window.count, counts_));
  SKIFF_RETURN_IF_ERROR(AtLeast(uint64_t{window.count} * most_, weights_));
  SKIFF_RETURN_IF_ERROR(AtLeast(most_, exact_));
  const double inverse = 1.0 / stretch;
  for (uint32_t i = 0; i < window.count; ++i) {
    const double centre = (static_cast<double>(window.begin + i) + 0.5) * ratio;
    const auto first = static_cast<int64_t>(std::max(0.0, std::trunc(centre - reach + 0.5)));
    const int64_t end =
        std::min<int64_t>(static_cast<int64_t>(std::floor(centre + reach + 0.5)), window.source);
    double sum = 0;
    for (int64_t x = first; x < end; ++x) {
      const double place = (static_cast<double>(x) - centre + 0.5) * inverse;
      sum += exact_[static_cast<size_t>(x - first)] = cubic ? Cubic(place) : Triangle(place);
    }
    firsts_[i] = static_cast<uint32_t>(first);
    counts_[i] = static_cast<uint32_t>(end - first);
    for (uint32_t k = 0; k < counts_[i]; ++k) {
      const double weight = (sum != 0 ? exact_[k] / sum : exact_[k]) * (1 << kBits);
      weights_[size_t{i} * most_ + k] = static_cast<int32_t>(weight + (weight < 0 ? -0.5 : 0.5));
    }
  }
  filter_ = filter;
  window_ = window;
  return OkStatus();
}

}  // namespace skiff
