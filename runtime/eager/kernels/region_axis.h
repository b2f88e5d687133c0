/// Where RoiAlign reads, as the ONNX operator defines it.
#pragma once

#include <cmath>
#include <cstdint>

#include "include/skiff/log.h"
#include "ops/attrs.h"

namespace skiff::eager {

/// One axis of one region.
struct RegionAxis {
  double start = 0;
  double cell = 0;   ///< Extent of one output cell in input pixels.
  double count = 0;  ///< Samples of a cell, a whole number; more than any loop could visit for a huge region.
  double extent = 0;  ///< Of the input.

  double Position(int64_t out, int64_t sample) const {
    return start + static_cast<double>(out) * cell + (static_cast<double>(sample) + 0.5) * cell / count;
  }
  /// Samples within a pixel of the input's border read the border, those farther out read 0.
  bool Inside(double position) const { return position >= -1 && position <= extent; }
};

/// The samples [first, end) of a cell that may lie inside.
struct SampleRange {
  int64_t first = 0;
  int64_t end = 0;
};

inline SampleRange SamplesInside(const RegionAxis& axis, int64_t out) {
  if (!(axis.count > 0)) return {};  // A region that is turned around has no samples of its own.
  const double step = axis.cell / axis.count;
  const double begin = axis.start + static_cast<double>(out) * axis.cell;
  // The attribute asked for samples of a region without extent, or turned around.
  if (!(step > 0)) return {0, static_cast<int64_t>(axis.count)};
  // Beyond 2^53 neighbouring samples cannot be told apart.
  const double last = std::fmin(axis.count, 0x1p53);
  const auto clip = [&](double sample) { return sample < 0 ? 0.0 : std::fmin(sample, last); };
  // One more at either end, because Inside() decides.
  const double first = std::floor((-1 - begin) / step - 0.5);
  const double end = std::ceil((axis.extent - begin) / step - 0.5) + 1;
  return {static_cast<int64_t>(clip(first)), static_cast<int64_t>(clip(end))};
}

/// The two neighbours of a position inside, clipped to the input.
struct Neighbours {
  int64_t low = 0;
  int64_t high = 0;
  double low_weight = 1;
  double high_weight = 0;
};

inline Neighbours NeighboursOf(const RegionAxis& axis, double position) {
  const double x = position < 0 ? 0.0 : position;
  const auto low = static_cast<int64_t>(x);
  const auto last = static_cast<int64_t>(axis.extent) - 1;
  if (low >= last) return {last, last, 1, 0};
  const double fraction = x - static_cast<double>(low);
  return {low, low + 1, 1 - fraction, fraction};
}

/// False where the region is not made of numbers.
inline bool Resolve(const RoiAlignAttrs& attrs, double begin, double end, int64_t cells, int64_t extent,
                    RegionAxis* axis) {
  const double offset = attrs.half_pixel ? 0.5 : 0.0;
  const auto scale = static_cast<double>(attrs.spatial_scale);
  axis->start = begin * scale - offset;
  double length = end * scale - offset - axis->start;
  // Without the half pixel, a region is at least one pixel large.
  if (!attrs.half_pixel && length < 1) length = 1;
  if (!std::isfinite(axis->start) || !std::isfinite(length)) return false;
  axis->cell = length / static_cast<double>(cells);
  axis->count = attrs.sampling_ratio > 0 ? static_cast<double>(attrs.sampling_ratio) : std::ceil(axis->cell);
  axis->extent = static_cast<double>(extent);
  return true;
}

/// Both axes of region `index`, with the corners (x1, y1, x2, y2), of image `image`, for pictures and results
/// of these shapes. kInvalidArgument: there is no such image, or the region is not made of numbers.
inline Status ReadRegion(const RoiAlignAttrs& attrs, const Shape& x, const Shape& y, int64_t index,
                         int64_t image, const double (&corners)[4], RegionAxis* rows, RegionAxis* columns) {
  if (image < 0 || image >= x[0]) {
    return Fail(StatusCode::kInvalidArgument, "RoiAlign: region %lld is in image %lld, outside [0, %lld)",
                static_cast<long long>(index), static_cast<long long>(image), static_cast<long long>(x[0]));
  }
  if (!Resolve(attrs, corners[1], corners[3], y[1], x[1], rows) ||
      !Resolve(attrs, corners[0], corners[2], y[2], x[2], columns)) {
    return Fail(StatusCode::kInvalidArgument, "RoiAlign: region %lld is not made of finite numbers",
                static_cast<long long>(index));
  }
  return OkStatus();
}

}  // namespace skiff::eager
