// RoiAlign of NHWC images, as the ONNX operator defines it (Mask R-CNN, He et al. 2017, and torchvision's
// roi_align): each cell of a region is the mean, or the largest, of bilinear samples inside it.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/region_axis.h"

namespace skiff {
namespace {

using namespace eager;

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
    double corners[4];
    load(args.inputs[1].data, region * 4, 1, 4, corners);
    RegionAxis rows;
    RegionAxis columns;
    SKIFF_RETURN_IF_ERROR(ReadRegion(attrs, x.shape, out.shape, region, image, corners, &rows, &columns));
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
