#include "quantize/observer.h"

#include <algorithm>
#include <cmath>

namespace skiff {
namespace {

constexpr double kNewWeight = 0.1;

}  // namespace

void Observer::Reach(double largest) {
  if (bins_.empty()) {
    reach_ = std::ldexp(1.0, std::ilogb(largest) + 1);
    bins_.assign(kBins, 0);
  }
  while (largest >= reach_) {
    // Two bins become one; the middle stays where it is.
    std::vector<int64_t> wider(kBins, 0);
    for (size_t i = 0; i < kBins; ++i) wider[kBins / 4 + i / 2] += bins_[i];
    bins_ = std::move(wider);
    reach_ *= 2;
  }
}

void Observer::AddChannels(std::span<const float> values, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  if (channels <= 0 || values.size() % count != 0) return;
  channel_largest_.resize(count, 0);
  for (size_t i = 0; i < values.size(); i += count) {
    for (size_t c = 0; c < count; ++c) {
      const float value = std::abs(values[i + c]);
      if (std::isfinite(value)) channel_largest_[c] = std::max(channel_largest_[c], value);
    }
  }
}

void Observer::Add(std::span<const float> values, int64_t channels) {
  float low = 0;
  float high = 0;
  bool any = false;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  if (any) {
    const bool first = calls_ == 0;
    min_ = first ? static_cast<double>(low) : std::min(min_, static_cast<double>(low));
    max_ = first ? static_cast<double>(high) : std::max(max_, static_cast<double>(high));
    average_min_ += (first ? 1 : kNewWeight) * (static_cast<double>(low) - average_min_);
    average_max_ += (first ? 1 : kNewWeight) * (static_cast<double>(high) - average_max_);
    ++calls_;
    const double largest = std::max(std::abs(static_cast<double>(low)), std::abs(static_cast<double>(high)));
    if (largest > 0) Reach(largest);
  }
  const double factor = reach_ > 0 ? kBins / (2 * reach_) : 0;
  for (const float value : values) {
    if (value == 0) {
      ++zeros_;
    } else if (!std::isfinite(value)) {
      ++not_finite_;
    } else {
      const auto bin = static_cast<int>((static_cast<double>(value) + reach_) * factor);
      ++bins_[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
      ++others_;
    }
  }
  AddChannels(values, channels);
}

}  // namespace skiff
