// Resize with antialiasing: where the image shrinks, the interpolation kernel is stretched until it covers
// all input pixels between two output pixels, as in PIL and PyTorch.
#include "eager/kernels/interpolate.h"
#include "eager/kernels/resize_axis.h"

namespace skiff::eager {
namespace {

/// The stretched kernel around one output position.
struct Filter {
  double centre = 0;
  double density = 1;  ///< At most 1: how much a distance shrinks under the stretched kernel.
  double norm = 1;     ///< Divides the weights, so that they add up to 1.
  int64_t first = 0;
  int64_t end = 0;  ///< Behind the last tap. 0 taps: extrapolated.
  int64_t input = 1;
  const ResizeAttrs* attrs = nullptr;

  bool empty() const { return first == end; }

  double RawWeight(int64_t i) const {
    if (attrs->exclude_outside && (i < 0 || i >= input)) return 0;
    const double distance = (static_cast<double>(i) - centre) * density;
    if (attrs->mode == ResizeMode::kCubic) {
      return CubicWeight(distance, static_cast<double>(attrs->cubic_coeff_a));
    }
    return std::fabs(distance) < 1 ? 1 - std::fabs(distance) : 0.0;
  }
  double Weight(int64_t i) const { return RawWeight(i) / norm; }
  /// Taps beyond the border read the border.
  int64_t Index(int64_t i) const { return i < 0 ? 0 : (i >= input ? input - 1 : i); }
};

Filter FilterOf(const ResizeAxis& axis, const ResizeAttrs& attrs, int64_t out) {
  Filter filter;
  filter.attrs = &attrs;
  filter.input = axis.input;
  const double source = axis.Source(attrs.coordinates, out);
  if (axis.IsExtrapolated(attrs.coordinates, source)) return filter;
  // No kernel needs to reach farther than the whole input from any position inside it.
  const auto extent = static_cast<double>(axis.input);
  filter.centre = std::fmin(std::fmax(source, -extent), 2 * extent);
  const double radius = attrs.mode == ResizeMode::kCubic ? 2 : 1;
  filter.density = std::fmin(1.0, std::fmax(axis.Scale(), radius / (4 * extent)));
  filter.first = static_cast<int64_t>(std::ceil(filter.centre - radius / filter.density));
  filter.end = static_cast<int64_t>(std::floor(filter.centre + radius / filter.density)) + 1;
  double sum = 0;
  for (int64_t i = filter.first; i < filter.end; ++i) sum += filter.RawWeight(i);
  filter.norm = sum != 0 ? sum : 1.0;
  return filter;
}

void MixPixel(const KernelArgs& args, int64_t image, const Filter& row, const Filter& column, int64_t out) {
  const TensorView& x = args.inputs[0];
  const LoadFn<double> load = Loader<double>(x.dtype);
  const int64_t channels = x.shape[3];
  double sums[kChunk];
  double values[kChunk];
  for (int64_t c = 0; c < channels; c += kChunk) {
    const int64_t count = channels - c < kChunk ? channels - c : kChunk;
    for (int64_t i = 0; i < count; ++i) sums[i] = 0;
    for (int64_t j = row.first; j < row.end; ++j) {
      const double row_weight = row.Weight(j);
      for (int64_t k = column.first; row_weight != 0 && k < column.end; ++k) {
        const double weight = row_weight * column.Weight(k);
        if (weight == 0) continue;
        load(x.data, image + (row.Index(j) * x.shape[2] + column.Index(k)) * channels + c, 1, count, values);
        for (int64_t i = 0; i < count; ++i) sums[i] += weight * values[i];
      }
    }
    Storer<double>(x.dtype)(args.outputs[0].data, out + c, count, sums);
  }
}

}  // namespace

void ResizeAntialiased(const KernelArgs& args) {
  const auto& attrs = args.As<ResizeAttrs>();
  const ResizeAxis rows = ResizeAxis::Of(args, 0);
  const ResizeAxis columns = ResizeAxis::Of(args, 1);
  const int64_t channels = args.inputs[0].shape[3];
  int64_t out = 0;
  for (int64_t n = 0; n < args.inputs[0].shape[0]; ++n) {
    for (int64_t y = 0; y < rows.output; ++y) {
      const Filter row = FilterOf(rows, attrs, y);
      for (int64_t x = 0; x < columns.output; ++x, out += channels) {
        const Filter column = FilterOf(columns, attrs, x);
        if (row.empty() || column.empty()) {
          StoreExtrapolated(args, out);
        } else {
          MixPixel(args, n * rows.input * columns.input * channels, row, column, out);
        }
      }
    }
  }
}

}  // namespace skiff::eager
