#include "delegates/xnnpack/lower/window_bands.h"

#include <algorithm>

#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {
namespace {

/// Rows of the picture that meet all weights while they are in the second-level cache; fewer where that cache
/// holds all weights, so that a band is still in the first one when it has been made.
constexpr size_t kBandBytes = 512 * 1024;
constexpr size_t kSmallBandBytes = 32 * 1024;
constexpr size_t kSmallWeightBytes = 128 * 1024;
/// Elements of the band of one line of the output beside four times the picture's. Codes are smaller, and no
/// other kernel is as fast.
constexpr size_t kMostPads = size_t{1} << 20;
constexpr size_t kMostCodePads = 8 * kMostPads;

}  // namespace

Status WindowBands::Describe(const NodeView& node, bool always_copies, DenseShape* shape) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const TensorView& x = node.in(0);
  const TensorView& w = node.in(1);
  const TensorView& y = node.out(0);
  for (int axis = 0; axis < 2; ++axis) {
    uint32_t begin = 0;
    uint32_t end = 0;  // Windows say how far they reach.
    if (!FitPads(attrs.auto_pad, attrs.pads, axis, x.shape[1 + axis], y.shape[1 + axis], w.shape[1 + axis],
                 attrs.strides[axis], attrs.dilations[axis], &begin, &end)) {
      return Refuse();
    }
    pads[axis] = begin;
    extents[axis] = static_cast<size_t>(x.shape[1 + axis]);
    outputs[axis] = static_cast<size_t>(y.shape[1 + axis]);
    strides[axis] = static_cast<size_t>(attrs.strides[axis]);
    reach[axis] = static_cast<size_t>((w.shape[1 + axis] - 1) * attrs.dilations[axis] + 1);
  }
  pictures = static_cast<size_t>(y.shape[0]);
  channels = static_cast<size_t>(x.shape[3]);
  groups = static_cast<size_t>(attrs.groups);
  group_channels = channels / groups;
  x_stride = RowsOf(x).stride;
  copies = always_copies || !Inside(0) || !Inside(1);
  band_width = copies ? Reach(1, outputs[1]) : extents[1];
  // Of windows that reach far over the pads a band would be little else.
  const size_t most = (always_copies ? kMostCodePads : kMostPads) / channels + 4 * extents[0] * extents[1];
  if (copies && Reach(0, 1) * band_width > most) return Refuse();

  const size_t pixel = copies ? channels : x_stride;
  const bool side_by_side = attrs.dilations[1] == 1 && pixel == group_channels;
  shape->run = (side_by_side ? static_cast<size_t>(w.shape[2]) : 1) * group_channels;
  shape->runs[0] = static_cast<size_t>(w.shape[1]);
  shape->runs[1] = side_by_side ? 1 : static_cast<size_t>(w.shape[2]);
  shape->run_strides[0] = static_cast<size_t>(attrs.dilations[0]) * band_width * pixel;
  shape->run_strides[1] = static_cast<size_t>(attrs.dilations[1]) * pixel;
  shape->x_stride = strides[1] * pixel;
  shape->line_rows = outputs[1];
  shape->line_stride = strides[0] * band_width * pixel;
  shape->y_stride = RowsOf(y).stride;
  shape->outputs = static_cast<size_t>(w.shape[0]) / groups;
  return OkStatus();
}

void WindowBands::DescribeRows(size_t count, size_t length, size_t stride, DenseShape* shape) {
  *this = WindowBands();
  channels = group_channels = length;
  x_stride = stride;
  extents[0] = outputs[0] = count;
  copies = true;
  band_width = 1;
  shape->run = length;
  shape->x_stride = length;  // Of one line.
}

WindowBands::Band WindowBands::BandAt(size_t index) const {
  const size_t picture = index / picture_bands;
  const size_t first = index % picture_bands * band_lines;
  Band band = BandOf(first, std::min(band_lines, outputs[0] - first));
  band.pixel += picture * extents[0] * extents[1];
  band.output_pixel += picture * outputs[0] * outputs[1];
  return band;
}

WindowBands::Band WindowBands::BandOf(size_t first, size_t count) const {
  return {0,
          first * outputs[1],
          count * outputs[1],
          first,
          static_cast<long>(first * strides[0]) - static_cast<long>(pads[0]),
          Reach(0, count)};
}

void WindowBands::Divide(size_t threads, size_t panels, size_t element_bytes, size_t weight_bytes) {
  const size_t tasks = threads == 1 ? 1 : kTasksOfThread * threads;
  const size_t line_bytes = strides[0] * band_width * channels * element_bytes;
  const size_t most = weight_bytes <= kSmallWeightBytes ? kSmallBandBytes : kBandBytes;
  picture_bands = DivideUp(outputs[0], std::max<size_t>(most / line_bytes, 1));
  picture_bands = std::max(picture_bands, std::min(outputs[0], DivideUp(tasks, panels * pictures)));
  band_lines = DivideUp(outputs[0], picture_bands);
  picture_bands = DivideUp(outputs[0], band_lines);
  part_panels = DivideUp(panels, std::min(panels, DivideUp(tasks, pictures * picture_bands)));
  parts = DivideUp(panels, part_panels);
  band_elements = copies ? Reach(0, band_lines) * band_width * channels : 0;
}

}  // namespace skiff::xnnpack
