// Max and average pooling, NHWC.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/window.h"

namespace skiff {
namespace {

using namespace eager;

struct Pool {
  Window y_window;
  Window x_window;
  int64_t batch;
  int64_t channels;
};

Pool Describe(const KernelArgs& args) {
  const auto& attrs = args.As<Pool2dAttrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  return {MakeWindow(attrs, 0, x, out, attrs.kernel[0]), MakeWindow(attrs, 1, x, out, attrs.kernel[1]),
          x.shape[0], x.shape[3]};
}

/// For each output pixel and block of channels: lanes begin as `initial`, become add(lane, value) for each
/// tap inside the input, and pass finish(out_y, out_x, taps inside, count, lanes).
template <class Lane, class Add, class Finish>
void PoolAll(const Pool& pool, const TensorView& x, const TensorView& out, Lane initial, Add add,
             Finish finish) {
  const LoadFn<Lane> load = Loader<Lane>(x.dtype);
  const StoreFn<Lane> store = Storer<Lane>(out.dtype);
  const Window& rows = pool.y_window;
  const Window& columns = pool.x_window;
  Lane lanes[kChunk];
  Lane values[kChunk];
  for (int64_t pixel = 0; pixel < pool.batch * rows.output * columns.output; ++pixel) {
    const int64_t out_x = pixel % columns.output;
    const int64_t out_y = pixel / columns.output % rows.output;
    const int64_t image = pixel / columns.output / rows.output * rows.input * columns.input;
    for (int64_t c = 0; c < pool.channels; c += kChunk) {
      const int64_t count = pool.channels - c < kChunk ? pool.channels - c : kChunk;
      int64_t inside = 0;
      for (int64_t i = 0; i < count; ++i) lanes[i] = initial;
      for (int64_t tap_y = rows.FirstTap(out_y); tap_y < rows.EndTap(out_y); ++tap_y) {
        const int64_t in_y = rows.Position(out_y, tap_y);
        for (int64_t tap_x = columns.FirstTap(out_x); tap_x < columns.EndTap(out_x); ++tap_x) {
          const int64_t in_x = columns.Position(out_x, tap_x);
          load(x.data, (image + in_y * columns.input + in_x) * pool.channels + c, 1, count, values);
          for (int64_t i = 0; i < count; ++i) lanes[i] = add(lanes[i], values[i]);
          ++inside;
        }
      }
      finish(out_y, out_x, inside, count, lanes);
      store(out.data, pixel * pool.channels + c, count, lanes);
    }
  }
}

/// Taps inside the padded input. What ceil mode adds beyond the padding does not count.
int64_t PaddedTaps(const Window& window, int64_t out) {
  return window.TapsBefore(out, window.input + window.pad_end);
}

}  // namespace

Status KernelMaxPool2d(const KernelArgs& args) {
  const Pool pool = Describe(args);
  return VisitLane(args.op, args.inputs[0].dtype, [&](auto tag) -> Status {
    using Lane = decltype(tag);
    if (args.inputs[0].dtype == DType::kBool) return UnsupportedDType(args.op, DType::kBool);
    // A window without any tap inside the input gives the lowest value of the dtype, wherever it comes from.
    Lane initial = std::numeric_limits<Lane>::lowest();
    if constexpr (std::is_same_v<Lane, double>) {
      initial = -std::numeric_limits<double>::infinity();
    } else {
      initial = LowestOf<Lane>(args.inputs[0].dtype);
    }
    PoolAll<Lane>(
        pool, args.inputs[0], args.outputs[0], initial,
        [](Lane best, Lane value) { return value > best || value != value ? value : best; },
        [](int64_t, int64_t, int64_t, int64_t, Lane*) {});
    return OkStatus();
  });
}

Status KernelAveragePool2d(const KernelArgs& args) {
  const Pool pool = Describe(args);
  const DType dtype = args.inputs[0].dtype;
  if (!IsFloat(dtype)) return UnsupportedDType(args.op, dtype);
  const bool include_pad = args.As<Pool2dAttrs>().count_include_pad;
  PoolAll<double>(
      pool, args.inputs[0], args.outputs[0], 0.0, [](double sum, double value) { return sum + value; },
      [&](int64_t out_y, int64_t out_x, int64_t inside, int64_t count, double* lanes) {
        const int64_t taps =
            include_pad ? PaddedTaps(pool.y_window, out_y) * PaddedTaps(pool.x_window, out_x) : inside;
        // A window that lies in the padding alone averages to 0.
        const double divisor = taps == 0 ? 1.0 : static_cast<double>(taps);
        for (int64_t i = 0; i < count; ++i) lanes[i] /= divisor;
      });
  return OkStatus();
}

}  // namespace skiff
