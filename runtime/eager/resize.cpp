// Resize of height and width, NHWC, as the ONNX operator Resize defines it.
#include <cstring>

#include "eager/dispatch.h"
#include "eager/kernels.h"

namespace skiff {
namespace {

using namespace eager;

/// The input positions that one output position mixes along one axis.
struct Taps {
  int count = 1;
  int64_t index[4] = {};
  double weight[4] = {1, 0, 0, 0};
};

struct ResizeAxis {
  int64_t input;
  int64_t output;
  double scale;  ///< As given, or 0: output / input.
};

/// The output position in input coordinates.
double SourceCoordinate(const ResizeAxis& axis, ResizeCoordinates coordinates, int64_t out) {
  const auto position = static_cast<double>(out);
  const auto input = static_cast<double>(axis.input);
  const auto output = static_cast<double>(axis.output);
  // Multiplied before divided: a quotient that is an integer comes out exact.
  const auto divided = [&](double x) { return axis.scale > 0 ? x / axis.scale : x * input / output; };
  switch (coordinates) {
    case ResizeCoordinates::kAsymmetric:
      return divided(position);
    case ResizeCoordinates::kAlignCorners:
      return axis.output == 1 ? 0.0 : position * (input - 1) / (output - 1);
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.output == 1 ? 0.0 : divided(position + 0.5) - 0.5;
    case ResizeCoordinates::kHalfPixel:
      break;
  }
  return divided(position + 0.5) - 0.5;
}

double NearestOf(double x, ResizeNearest nearest) {
  switch (nearest) {
    case ResizeNearest::kRoundPreferFloor:
      return std::ceil(x - 0.5);
    case ResizeNearest::kRoundPreferCeil:
      return std::floor(x + 0.5);
    case ResizeNearest::kFloor:
      return std::floor(x);
    case ResizeNearest::kCeil:
      break;
  }
  return std::ceil(x);
}

/// Keys' cubic convolution kernel with parameter a, at the distances of the four neighbours.
void CubicWeights(double fraction, double a, double (&weight)[4]) {
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  weight[0] = far(fraction + 1);
  weight[1] = near(fraction);
  weight[2] = near(1 - fraction);
  weight[3] = far(2 - fraction);
}

Taps TapsOf(const ResizeAxis& axis, const ResizeAttrs& attrs, int64_t out) {
  Taps taps;
  double x = SourceCoordinate(axis, attrs.coordinates, out);
  if (attrs.mode == ResizeMode::kNearest) {
    x = NearestOf(x, attrs.nearest);
    taps.index[0] = static_cast<int64_t>(x);
  } else {
    const double floor = std::floor(x);
    const double fraction = x - floor;
    const bool cubic = attrs.mode == ResizeMode::kCubic;
    taps.count = cubic ? 4 : 2;
    if (cubic) {
      CubicWeights(fraction, static_cast<double>(attrs.cubic_coeff_a), taps.weight);
    } else {
      taps.weight[0] = 1 - fraction;
      taps.weight[1] = fraction;
    }
    for (int i = 0; i < taps.count; ++i) taps.index[i] = static_cast<int64_t>(floor) + i - (cubic ? 1 : 0);
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

ResizeAxis AxisOf(const KernelArgs& args, int axis) {
  // Sizes decide alone where they are given; the shape rule reads them first too.
  const bool scaled = !args.Has(1) && args.Has(2);
  return {args.inputs[0].shape[1 + axis], args.outputs[0].shape[1 + axis],
          scaled ? static_cast<double>(args.inputs[2].as<const float>()[axis]) : 0.0};
}

/// visit(first element of the output pixel, element offset of the batch, row taps, column taps).
template <class Visit>
void ForEachPixel(const KernelArgs& args, Visit&& visit) {
  const auto& attrs = args.As<ResizeAttrs>();
  const ResizeAxis rows = AxisOf(args, 0);
  const ResizeAxis columns = AxisOf(args, 1);
  const int64_t channels = args.inputs[0].shape[3];
  int64_t out = 0;
  for (int64_t n = 0; n < args.inputs[0].shape[0]; ++n) {
    for (int64_t y = 0; y < rows.output; ++y) {
      const Taps row_taps = TapsOf(rows, attrs, y);
      for (int64_t x = 0; x < columns.output; ++x, out += channels) {
        visit(out, n * rows.input * columns.input * channels, row_taps, TapsOf(columns, attrs, x));
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

void ResizeMixedAll(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const LoadFn<double> load = Loader<double>(x.dtype);
  const StoreFn<double> store = Storer<double>(x.dtype);
  const int64_t channels = x.shape[3];
  double sums[kChunk];
  double values[kChunk];
  ForEachPixel(args, [&](int64_t out, int64_t image, const Taps& row, const Taps& column) {
    for (int64_t c = 0; c < channels; c += kChunk) {
      const int64_t count = channels - c < kChunk ? channels - c : kChunk;
      for (int64_t i = 0; i < count; ++i) sums[i] = 0;
      for (int j = 0; j < row.count; ++j) {
        for (int k = 0; k < column.count; ++k) {
          const double weight = row.weight[j] * column.weight[k];
          // A neighbour without weight must not turn an infinity into a NaN.
          if (weight == 0) continue;
          load(x.data, image + (row.index[j] * x.shape[2] + column.index[k]) * channels + c, 1, count,
               values);
          for (int64_t i = 0; i < count; ++i) sums[i] += weight * values[i];
        }
      }
      store(args.outputs[0].data, out + c, count, sums);
    }
  });
}

}  // namespace

Status KernelResize2d(const KernelArgs& args) {
  const DType dtype = args.inputs[0].dtype;
  if (args.As<ResizeAttrs>().mode == ResizeMode::kNearest) {
    ResizeNearestAll(args);
    return OkStatus();
  }
  if (!IsFloat(dtype)) return UnsupportedDType(args.op, dtype);
  ResizeMixedAll(args);
  return OkStatus();
}

}  // namespace skiff
