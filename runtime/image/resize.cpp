#include "image/resize.h"

#include <algorithm>

namespace skiff {
namespace {

constexpr uint64_t kMostNarrowBytes = uint64_t{1} << 24;

/// Which samples of the source are nearest to the centres of the target's. Where a centre lies between two,
/// the error of a running sum in f64 decides, as it does in Pillow.
Status MakeNearest(const LineWindow& window, FixedArray<uint32_t>& nearest) {
  constexpr int64_t kLongestSum = 1 << 20;  // Beyond it, a multiplication.
  SKIFF_RETURN_IF_ERROR(AtLeast(window.count, nearest));
  const double ratio = static_cast<double>(window.source) / static_cast<double>(window.target);
  double place = ratio * 0.5;
  if (window.begin > kLongestSum) place += ratio * static_cast<double>(window.begin);
  for (int64_t i = 0; i < window.begin && window.begin <= kLongestSum; ++i) place += ratio;
  for (uint32_t i = 0; i < window.count; ++i, place += ratio)
    nearest[i] = std::min(static_cast<uint32_t>(place), window.source - 1);
  return OkStatus();
}

/// Where a sample of the target lies in the source: `fraction` of the way from one neighbour to the next.
struct Between {
  uint32_t first, second;
  float fraction;
};
Between Linear(const LineWindow& window, uint32_t i) {
  const float ratio = static_cast<float>(window.source) / static_cast<float>(window.target);
  const float place = std::max(0.0f, (static_cast<float>(window.begin + i) + 0.5f) * ratio - 0.5f);
  const uint32_t first = std::min(static_cast<uint32_t>(place), window.source - 1);
  return {first, std::min(first + 1, window.source - 1), place - static_cast<float>(first)};
}

template <uint32_t kChannels>
void Narrow(const uint8_t* from, const Taps& taps, uint8_t* to) {
  for (uint32_t i = 0; i < taps.size(); ++i, to += kChannels) {
    const Taps::Tap tap = taps[i];
    const uint8_t* at = from + size_t{tap.first} * kChannels;
    int32_t sums[kChannels] = {};
    for (uint32_t k = 0; k < tap.count; ++k, at += kChannels) {
      for (uint32_t c = 0; c < kChannels; ++c) sums[c] += at[c] * tap.weights[k];
    }
    for (uint32_t c = 0; c < kChannels; ++c) to[c] = ToSample(sums[c]);
  }
}

}  // namespace

Status Resize::Begin(PixelRows& rows, uint32_t channels, ImageFilter filter, const Window& window) {
  source_ = &rows;
  channels_ = channels;
  filter_ = filter;
  window_ = window;
  const uint64_t line = uint64_t{window.columns.count} * channels;
  if (filter == ImageFilter::kLinear) {
    held_[0] = held_[1] = -1;
    SKIFF_RETURN_IF_ERROR(AtLeast(line, lines_[0]));
    SKIFF_RETURN_IF_ERROR(AtLeast(line, lines_[1]));
    return AtLeast(line, floats_);
  }
  SKIFF_RETURN_IF_ERROR(AtLeast(line, row_));
  if (filter == ImageFilter::kNearest) {
    SKIFF_RETURN_IF_ERROR(MakeNearest(window.columns, nearest_columns_));
    return MakeNearest(window.rows, nearest_rows_);
  }
  SKIFF_RETURN_IF_ERROR(columns_.Make(filter, window.columns));
  SKIFF_RETURN_IF_ERROR(rows_.Make(filter, window.rows));
  SKIFF_RETURN_IF_ERROR(AtLeast(line, sums_));
  // As many as a row of the target needs; where that is too much memory each is made for each such row.
  const uint64_t needed = std::min(rows_.most(), rows_.source_end() - rows_.source_begin());
  narrow_count_ = static_cast<uint32_t>(std::min(needed, std::max<uint64_t>(kMostNarrowBytes / line, 1)));
  SKIFF_RETURN_IF_ERROR(AtLeast(line * narrow_count_, narrow_));
  SKIFF_RETURN_IF_ERROR(AtLeast(narrow_count_, narrow_row_));
  std::fill_n(narrow_row_.data(), narrow_count_, UINT32_MAX);
  return OkStatus();
}

const uint8_t* Resize::Narrowed(uint32_t row) {
  const uint32_t place = row % narrow_count_;
  uint8_t* const to = narrow_.data() + size_t{window_.columns.count} * channels_ * place;
  if (narrow_row_[place] == row) return to;
  narrow_row_[place] = row;
  (channels_ == 1 ? Narrow<1> : channels_ == 3 ? Narrow<3> : Narrow<4>)(source_->Row(row), columns_, to);
  return to;
}

const uint8_t* Resize::Row(uint32_t i) {
  const size_t line = size_t{window_.columns.count} * channels_;
  if (filter_ == ImageFilter::kNearest) {
    const uint8_t* from = source_->Row(nearest_rows_[i]);
    for (uint32_t x = 0; x < window_.columns.count; ++x) {
      const uint8_t* pixel = from + size_t{nearest_columns_[x]} * channels_;
      std::copy(pixel, pixel + channels_, row_.data() + size_t{x} * channels_);
    }
    return row_.data();
  }
  const Taps::Tap tap = rows_[i];
  std::fill_n(sums_.data(), line, 0);
  for (uint32_t k = 0; k < tap.count; ++k) {
    const uint8_t* from = Narrowed(tap.first + k);
    for (size_t x = 0; x < line; ++x) sums_[x] += from[x] * tap.weights[k];
  }
  std::transform(sums_.data(), sums_.data() + line, row_.data(), ToSample);
  return row_.data();
}

const float* Resize::FloatRow(uint32_t i) {
  const Between y = Linear(window_.rows, i);
  const auto line = [&](uint32_t row) -> const float* {
    // Two neighbours have different places.
    FixedArray<float>& to = lines_[row % 2];
    if (held_[row % 2] == row) return to.data();
    held_[row % 2] = row;
    const uint8_t* from = source_->Row(row);
    for (uint32_t x = 0; x < window_.columns.count; ++x) {
      const Between place = Linear(window_.columns, x);
      for (uint32_t c = 0; c < channels_; ++c) {
        to[size_t{x} * channels_ + c] =
            (1 - place.fraction) * static_cast<float>(from[size_t{place.first} * channels_ + c]) +
            place.fraction * static_cast<float>(from[size_t{place.second} * channels_ + c]);
      }
    }
    return to.data();
  };
  const float* top = line(y.first);
  const float* bottom = line(y.second);
  const size_t count = size_t{window_.columns.count} * channels_;
  for (size_t x = 0; x < count; ++x) floats_[x] = (1 - y.fraction) * top[x] + y.fraction * bottom[x];
  return floats_.data();
}

}  // namespace skiff
