// GridSample of NHWC images.
#include <cstring>

#include "eager/kernels.h"
#include "eager/kernels/grid_axis.h"

namespace skiff {
namespace {

using namespace eager;

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
void SampleNearest(const KernelArgs& args, const GridAxis& rows, const GridAxis& columns) {
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

void SampleMixed(const KernelArgs& args, const GridAxis& rows, const GridAxis& columns) {
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
  const GridAxis rows{x.shape[1], attrs.mode, attrs.padding, attrs.align_corners};
  const GridAxis columns{x.shape[2], attrs.mode, attrs.padding, attrs.align_corners};
  if (attrs.mode == GridSampleMode::kNearest) {
    SampleNearest(args, rows, columns);
    return OkStatus();
  }
  if (!IsFloat(x.dtype)) return UnsupportedDType(args.op, x.dtype);
  SampleMixed(args, rows, columns);
  return OkStatus();
}

}  // namespace skiff
