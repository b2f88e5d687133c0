// Resize of height and width, NHWC, as the ONNX operator Resize defines it.
#include <cstring>

#include "eager/kernels.h"
#include "eager/kernels/interpolate.h"
#include "eager/kernels/resize_axis.h"

namespace skiff {
namespace eager {
namespace {

/// Places are quotients of small integers: what lies so near to a whole number is one that was rounded.
double Snapped(double x) {
  const double whole = std::round(x);
  return std::fabs(x - whole) < 1e-9 ? whole : x;
}

double NearestOf(double x, ResizeNearest nearest) {
  switch (nearest) {
    case ResizeNearest::kRoundPreferFloor:
      return std::ceil(Snapped(x - 0.5));
    case ResizeNearest::kRoundPreferCeil:
      return std::floor(Snapped(x + 0.5));
    case ResizeNearest::kFloor:
      return std::floor(Snapped(x));
    case ResizeNearest::kCeil:
      break;
  }
  return std::ceil(Snapped(x));
}

}  // namespace

Taps TapsOf(const ResizeAxis& axis, const ResizeAttrs& attrs, int64_t out) {
  Taps taps;
  double x = axis.Source(attrs.coordinates, out);
  if (axis.IsExtrapolated(attrs.coordinates, x)) {
    taps.count = 0;
    return taps;
  }
  x = ResizeAxis::Bounded(x);
  if (attrs.mode == ResizeMode::kNearest) {
    taps.index[0] = static_cast<int64_t>(NearestOf(x, attrs.nearest));
  } else {
    taps = attrs.mode == ResizeMode::kCubic ? CubicTaps(x, static_cast<double>(attrs.cubic_coeff_a))
                                            : LinearTaps(x);
  }
  double sum = 0;
  for (int i = 0; i < taps.count; ++i) {
    const bool outside = taps.index[i] < 0 || taps.index[i] >= axis.input;
    if (outside && attrs.exclude_outside && attrs.mode != ResizeMode::kNearest) taps.weight[i] = 0;
    sum += taps.weight[i];
    taps.index[i] = taps.index[i] < 0 ? 0 : (taps.index[i] >= axis.input ? axis.input - 1 : taps.index[i]);
  }
  if (attrs.exclude_outside && sum != 0) {
    for (int i = 0; i < taps.count; ++i) taps.weight[i] /= sum;
  }
  return taps;
}

void StoreExtrapolated(const KernelArgs& args, int64_t out) {
  const auto value = static_cast<double>(args.As<ResizeAttrs>().extrapolation);
  const TensorView& y = args.outputs[0];
  const int64_t end = out + y.shape[3];
  if (IsFloat(y.dtype)) {
    for (const StoreFn<double> store = Storer<double>(y.dtype); out < end; ++out)
      store(y.data, out, 1, &value);
    return;
  }
  const auto whole = static_cast<int64_t>(ResizeAxis::Bounded(value));
  for (const StoreFn<int64_t> store = Storer<int64_t>(y.dtype); out < end; ++out)
    store(y.data, out, 1, &whole);
}

}  // namespace eager

namespace {

using namespace eager;

/// visit(first element of the output pixel, element offset of the batch, row taps, column taps).
template <class Visit>
void ForEachPixel(const KernelArgs& args, Visit&& visit) {
  const auto& attrs = args.As<ResizeAttrs>();
  const ResizeAxis rows = ResizeAxis::Of(args, 0);
  const ResizeAxis columns = ResizeAxis::Of(args, 1);
  const int64_t channels = args.inputs[0].shape[3];
  int64_t out = 0;
  for (int64_t n = 0; n < args.inputs[0].shape[0]; ++n) {
    for (int64_t y = 0; y < rows.output; ++y) {
      const Taps row_taps = TapsOf(rows, attrs, y);
      for (int64_t x = 0; x < columns.output; ++x, out += channels) {
        const Taps column_taps = TapsOf(columns, attrs, x);
        if (row_taps.count == 0 || column_taps.count == 0) {
          StoreExtrapolated(args, out);
        } else {
          visit(out, n * rows.input * columns.input * channels, row_taps, column_taps);
        }
      }
    }
  }
}

void ResizeNearestAll(const KernelArgs& args) {
  const int64_t size = DTypeSize(args.inputs[0].dtype);
  const int64_t channels = args.inputs[0].shape[3];
  const int64_t width = args.inputs[0].shape[2];
  const auto bytes = static_cast<size_t>(channels * size);
  if (bytes == 0) return;
  ForEachPixel(args, [&](int64_t out, int64_t image, const Taps& row, const Taps& column) {
    const int64_t from = image + (row.index[0] * width + column.index[0]) * channels;
    std::memcpy(args.outputs[0].as<char>() + out * size, args.inputs[0].as<const char>() + from * size,
                bytes);
  });
}

}  // namespace

Status KernelResize2d(const KernelArgs& args) {
  const DType dtype = args.inputs[0].dtype;
  const auto& attrs = args.As<ResizeAttrs>();
  if (attrs.mode == ResizeMode::kNearest) {
    ResizeNearestAll(args);
    return OkStatus();
  }
  if (!IsFloat(dtype)) return UnsupportedDType(args.op, dtype);
  if (attrs.antialias) {
    ResizeAntialiased(args);
    return OkStatus();
  }
  const PixelMixer mixer(args.inputs[0], args.outputs[0]);
  ForEachPixel(args, [&](int64_t out, int64_t image, const Taps& row, const Taps& column) {
    mixer.Mix(image, row, column, out);
  });
  return OkStatus();
}

}  // namespace skiff
