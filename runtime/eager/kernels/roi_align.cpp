// RoiAlign of NHWC images, as the ONNX operator defines it (Mask R-CNN, He et al. 2017, and torchvision's
// roi_align): each cell of a region is the mean, or the largest, of bilinear samples inside it.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

using namespace eager;

/// One axis of one region.
struct RegionAxis {
  double start;
  double cell;    ///< Extent of one output cell in input pixels.
  double count;   ///< Samples of a cell, a whole number; more than any loop could visit for a huge region.
  double extent;  ///< Of the input.

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

SampleRange SamplesInside(const RegionAxis& axis, int64_t out) {
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

Neighbours NeighboursOf(const RegionAxis& axis, double position) {
  const double x = position < 0 ? 0.0 : position;
  const auto low = static_cast<int64_t>(x);
  const auto last = static_cast<int64_t>(axis.extent) - 1;
  if (low >= last) return {last, last, 1, 0};
  const double fraction = x - static_cast<double>(low);
  return {low, low + 1, 1 - fraction, fraction};
}

/// False where the region is not made of numbers.
bool Resolve(const RoiAlignAttrs& attrs, double begin, double end, int64_t cells, int64_t extent,
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

/// Sums, or the largest, over the samples of one cell, for a block of channels.
template <RoiAlignMode kMode>
void SampleCell(const TensorView& x, int64_t image, const RegionAxis& rows, const RegionAxis& columns,
                int64_t out_y, int64_t out_x, int64_t first_channel, int64_t count, double* lanes) {
  const LoadFn<double> load = Loader<double>(x.dtype);
  const int64_t channels = x.shape[3];
  double values[kChunk];
  double visited = 0;
  for (int64_t i = 0; i < count; ++i) lanes[i] = 0;
  const SampleRange ys = SamplesInside(rows, out_y);
  const SampleRange xs = SamplesInside(columns, out_x);
  for (int64_t iy = ys.first; iy < ys.end; ++iy) {
    const double y = rows.Position(out_y, iy);
    if (!rows.Inside(y)) continue;
    const Neighbours row = NeighboursOf(rows, y);
    for (int64_t ix = xs.first; ix < xs.end; ++ix) {
      const double at = columns.Position(out_x, ix);
      if (!columns.Inside(at)) continue;
      const Neighbours column = NeighboursOf(columns, at);
      const bool begins = visited == 0;
      visited += 1;
      for (int corner = 0; corner < 4; ++corner) {
        const bool low_y = corner < 2;
        const bool low_x = corner % 2 == 0;
        const int64_t pixel = (low_y ? row.low : row.high) * x.shape[2] + (low_x ? column.low : column.high);
        const double weight =
            (low_y ? row.low_weight : row.high_weight) * (low_x ? column.low_weight : column.high_weight);
        load(x.data, image + pixel * channels + first_channel, 1, count, values);
        for (int64_t i = 0; i < count; ++i) {
          const double part = weight == 0 ? 0.0 : weight * values[i];
          if constexpr (kMode == RoiAlignMode::kAverage) {
            lanes[i] += part;
          } else {
            // The specification's reference takes the largest weighted neighbour, not the largest sample.
            if ((begins && corner == 0) || part > lanes[i] || part != part) lanes[i] = part;
          }
        }
      }
    }
  }
  const double samples = rows.count * columns.count;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kMode == RoiAlignMode::kAverage) {
      lanes[i] /= samples > 1 ? samples : 1.0;
    } else if (visited > 0 && visited < samples && lanes[i] < 0) {
      lanes[i] = 0;  // A sample outside counts as 0.
    }
  }
}

}  // namespace

Status KernelRoiAlign(const KernelArgs& args) {
  const auto& attrs = args.As<RoiAlignAttrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  if (!IsFloat(x.dtype)) return UnsupportedDType(args.op, x.dtype);
  const LoadFn<double> load = Loader<double>(x.dtype);
  const StoreFn<double> store = Storer<double>(x.dtype);
  const auto sample = attrs.mode == RoiAlignMode::kAverage ? SampleCell<RoiAlignMode::kAverage>
                                                           : SampleCell<RoiAlignMode::kMax>;
  const int64_t channels = x.shape[3];
  const int64_t cells = out.shape[1] * out.shape[2];
  double lanes[kChunk];
  for (int64_t region = 0; region < out.shape[0]; ++region) {
    const int64_t image = IntegerAt(args.inputs[2], region);
    if (image < 0 || image >= x.shape[0]) {
      return Fail(StatusCode::kInvalidArgument, "RoiAlign: region %lld is in image %lld, outside [0, %lld)",
                  static_cast<long long>(region), static_cast<long long>(image),
                  static_cast<long long>(x.shape[0]));
    }
    double corners[4];
    load(args.inputs[1].data, region * 4, 1, 4, corners);
    RegionAxis rows;
    RegionAxis columns;
    if (!Resolve(attrs, corners[1], corners[3], out.shape[1], x.shape[1], &rows) ||
        !Resolve(attrs, corners[0], corners[2], out.shape[2], x.shape[2], &columns)) {
      return Fail(StatusCode::kInvalidArgument, "RoiAlign: region %lld is not made of finite numbers",
                  static_cast<long long>(region));
    }
    for (int64_t cell = 0; cell < cells; ++cell) {
      for (int64_t c = 0; c < channels; c += kChunk) {
        const int64_t count = channels - c < kChunk ? channels - c : kChunk;
        sample(x, image * x.shape[1] * x.shape[2] * channels, rows, columns, cell / out.shape[2],
               cell % out.shape[2], c, count, lanes);
        store(out.data, (region * cells + cell) * channels + c, count, lanes);
      }
    }
  }
  return OkStatus();
}

}  // namespace skiff
