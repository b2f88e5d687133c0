// GridSample of NHWC images, as PyTorch's grid_sample and the ONNX operator GridSample define it.
#include <cstring>

#include "eager/kernels.h"
#include "eager/kernels/interpolate.h"

namespace skiff {
namespace {

using namespace eager;

constexpr double kCubicA = -0.75;

struct Axis {
  int64_t extent;
  GridSampleMode mode;
  GridSamplePadding padding;
  bool align_corners;

  /// A grid coordinate in [-1, 1] in pixels.
  double Denormalize(double g) const {
    const auto length = static_cast<double>(extent);
    return align_corners ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
  }

  /// Mirrored at the centres of the border pixels, or at their outer edges, as often as needed.
  double Reflect(double x) const {
    const double low = align_corners ? 0.0 : -0.5;
    const double span = static_cast<double>(extent) - (align_corners ? 1.0 : 0.0);
    if (span <= 0) return 0.0;
    const double phase = std::fmod(std::fabs(x - low), 2 * span);
    return low + (phase > span ? 2 * span - phase : phase);
  }

  double Clip(double x) const {
    const double last = static_cast<double>(extent - 1);
    return x < 0 ? 0.0 : (x > last ? last : x);
  }

  /// Where a tap reads; -1: outside, which reads 0.
  int64_t Place(int64_t i) const {
    if (i >= 0 && i < extent) return i;
    switch (padding) {
      case GridSamplePadding::kZeros:
        return -1;
      case GridSamplePadding::kBorder:
        return i < 0 ? 0 : extent - 1;
      case GridSamplePadding::kReflection:
        break;
    }
    return static_cast<int64_t>(Clip(Reflect(static_cast<double>(i))));
  }

  /// Of a coordinate that is a number. A tap without a place keeps position 0 and weight 0.
  Taps TapsOf(double g) const {
    // Infinity is as far away as anything else.
    constexpr double kFar = 1e15;
    double x = Denormalize(g < -kFar ? -kFar : (g > kFar ? kFar : g));
    // A reflected coordinate sees the same image; far away it also saves the precision of the neighbours.
    if (padding == GridSamplePadding::kReflection) x = Reflect(x);
    if (padding != GridSamplePadding::kZeros && mode != GridSampleMode::kCubic) x = Clip(x);
    // Nothing of the image is in reach beyond this distance, and the positions of taps fit in integers.
    constexpr double kReach = 4;
    const double far = static_cast<double>(extent) + kReach;
    x = x < -kReach ? -kReach : (x > far ? far : x);
    Taps taps;
    if (mode == GridSampleMode::kNearest) {
      taps.index[0] = static_cast<int64_t>(std::nearbyint(x));
    } else {
      taps = mode == GridSampleMode::kCubic ? CubicTaps(x, kCubicA) : LinearTaps(x);
    }
    for (int i = 0; i < taps.count; ++i) {
      const int64_t place = Place(taps.index[i]);
      if (place < 0) taps.weight[i] = 0;
      taps.index[i] = place < 0 ? 0 : place;
    }
    return taps;
  }
};

/// visit(first output element, element where the image begins, grid x, grid y).
template <class Visit>
void ForEachPoint(const KernelArgs& args, Visit&& visit) {
  const TensorView& x = args.inputs[0];
  const TensorView& grid = args.inputs[1];
  const LoadFn<double> load = Loader<double>(grid.dtype);
  const int64_t points = grid.shape[1] * grid.shape[2];
  const int64_t image = x.shape[1] * x.shape[2] * x.shape[3];
  for (int64_t i = 0; i < x.shape[0] * points; ++i) {
    double at[2];
    load(grid.data, 2 * i, 1, 2, at);
    visit(i * x.shape[3], i / points * image, at[0], at[1]);
  }
}

/// Any dtype: nothing is computed, so a coordinate that is not a number reads 0.
void SampleNearest(const KernelArgs& args, const Axis& rows, const Axis& columns) {
  const TensorView& x = args.inputs[0];
  const int64_t size = DTypeSize(x.dtype);
  const auto bytes = static_cast<size_t>(x.shape[3] * size);
  if (bytes == 0) return;
  ForEachPoint(args, [&](int64_t out, int64_t image, double grid_x, double grid_y) {
    char* to = args.outputs[0].as<char>() + out * size;
    const bool numbers = !std::isnan(grid_x) && !std::isnan(grid_y);
    const Taps row = rows.TapsOf(numbers ? grid_y : 0.0);
    const Taps column = columns.TapsOf(numbers ? grid_x : 0.0);
    if (!numbers || row.weight[0] == 0 || column.weight[0] == 0) {
      std::memset(to, 0, bytes);
      return;
    }
    const int64_t from = image + (row.index[0] * x.shape[2] + column.index[0]) * x.shape[3];
    std::memcpy(to, x.as<const char>() + from * size, bytes);
  });
}

void SampleMixed(const KernelArgs& args, const Axis& rows, const Axis& columns) {
  const TensorView& x = args.inputs[0];
  const PixelMixer mixer(x, args.outputs[0]);
  const StoreFn<double> store = Storer<double>(x.dtype);
  ForEachPoint(args, [&](int64_t out, int64_t image, double grid_x, double grid_y) {
    if (std::isnan(grid_x) || std::isnan(grid_y)) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      for (int64_t c = 0; c < x.shape[3]; ++c) store(args.outputs[0].data, out + c, 1, &nan);
      return;
    }
    mixer.Mix(image, rows.TapsOf(grid_y), columns.TapsOf(grid_x), out);
  });
}

}  // namespace

Status KernelGridSample2d(const KernelArgs& args) {
  const auto& attrs = args.As<GridSampleAttrs>();
  const TensorView& x = args.inputs[0];
  const Axis rows{x.shape[1], attrs.mode, attrs.padding, attrs.align_corners};
  const Axis columns{x.shape[2], attrs.mode, attrs.padding, attrs.align_corners};
  if (attrs.mode == GridSampleMode::kNearest) {
    SampleNearest(args, rows, columns);
    return OkStatus();
  }
  if (!IsFloat(x.dtype)) return UnsupportedDType(args.op, x.dtype);
  SampleMixed(args, rows, columns);
  return OkStatus();
}

}  // namespace skiff
