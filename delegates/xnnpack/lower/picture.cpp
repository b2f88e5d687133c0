// What kernels of our own know of a picture and the outputs over it.
#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {

Status DescribePicture(const NodeView& node, PictureArgs* args) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const TensorView& x = node.in(0);
  const TensorView& y = node.out(0);
  uint32_t pads[2] = {};
  for (int axis = 0; axis < 2; ++axis) {
    uint32_t end = 0;  // What lies beyond the picture's end is left out without being told.
    if (!FitPads(attrs.auto_pad, attrs.pads, axis, x.shape[1 + axis], y.shape[1 + axis],
                 node.in(1).shape[1 + axis], attrs.strides[axis], attrs.dilations[axis], &pads[axis], &end)) {
      return Refuse();
    }
  }
  args->channels = static_cast<size_t>(x.shape[3]);
  args->height = static_cast<size_t>(x.shape[1]);
  args->width = static_cast<size_t>(x.shape[2]);
  args->output_height = static_cast<size_t>(y.shape[1]);
  args->output_width = static_cast<size_t>(y.shape[2]);
  args->x_stride = RowsOf(x).stride;
  args->y_stride = RowsOf(y).stride;
  args->SetDenseLines();
  args->top = static_cast<long>(pads[0]);
  args->left = static_cast<long>(pads[1]);
  args->min = attrs.min;
  args->max = attrs.max;
  return OkStatus();
}

void TakePhase(const size_t (&first)[2], const size_t (&dilations)[2], PictureArgs* args) {
  long* const pads[2] = {&args->top, &args->left};
  size_t* const extents[2][2] = {{&args->height, &args->output_height}, {&args->width, &args->output_width}};
  size_t* const strides[2][2] = {{&args->x_line, &args->y_line}, {&args->x_stride, &args->y_stride}};
  for (int axis = 0; axis < 2; ++axis) {
    const auto step = static_cast<long>(dilations[axis]);
    const long window = static_cast<long>(first[axis]) - *pads[axis];  // Where the first one begins.
    const long pixel = (window % step + step) % step;                  // The first one that is met.
    *pads[axis] = (pixel - window) / step;
    args->x += static_cast<size_t>(pixel) * *strides[axis][0];
    args->y += first[axis] * *strides[axis][1];
    const size_t skipped[2] = {static_cast<size_t>(pixel), first[axis]};
    for (int i = 0; i < 2; ++i) {
      size_t& extent = *extents[axis][i];
      extent = extent > skipped[i] ? DivideUp(extent - skipped[i], dilations[axis]) : 0;
      *strides[axis][i] *= dilations[axis];
    }
  }
}

void MoveToPicture(size_t index, PictureArgs* args) {
  args->x += index * args->height * args->width * args->x_stride;
  args->y += index * args->output_height * args->output_width * args->y_stride;
}

}  // namespace skiff::xnnpack
