// Where the largest elements of a maximum pool come from: NHWC in, flat positions in the NCHW tensor out, as
// the ONNX operator MaxPool numbers them.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/window.h"

namespace skiff {
namespace {

using namespace eager;

/// Of equal elements the first one of the window counts, and a NaN before numbers. A window without any
/// element inside the input has no position: -1.
template <class Lane>
void FindLargest(const KernelArgs& args) {
  const auto& attrs = args.As<Pool2dAttrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  const Window rows = MakeWindow(attrs, 0, x, out, attrs.kernel[0]);
  const Window columns = MakeWindow(attrs, 1, x, out, attrs.kernel[1]);
  const int64_t channels = x.shape[3];
  const int64_t plane = rows.input * columns.input;
  const LoadFn<Lane> load = Loader<Lane>(x.dtype);
  Lane best[kChunk];
  Lane values[kChunk];
  auto* indices = out.as<int64_t>();
  for (int64_t pixel = 0; pixel < x.shape[0] * rows.output * columns.output; ++pixel) {
    const int64_t out_x = pixel % columns.output;
    const int64_t out_y = pixel / columns.output % rows.output;
    const int64_t n = pixel / columns.output / rows.output;
    for (int64_t c = 0; c < channels; c += kChunk) {
      const int64_t count = channels - c < kChunk ? channels - c : kChunk;
      int64_t* index = indices + pixel * channels + c;
      for (int64_t i = 0; i < count; ++i) index[i] = -1;
      for (int64_t tap_y = rows.FirstTap(out_y); tap_y < rows.EndTap(out_y); ++tap_y) {
        for (int64_t tap_x = columns.FirstTap(out_x); tap_x < columns.EndTap(out_x); ++tap_x) {
          const int64_t place = rows.Position(out_y, tap_y) * columns.input + columns.Position(out_x, tap_x);
          load(x.data, (n * plane + place) * channels + c, 1, count, values);
          for (int64_t i = 0; i < count; ++i) {
            const bool is_nan = values[i] != values[i];
            const bool better = values[i] > best[i] || (is_nan && best[i] == best[i]);
            if (index[i] >= 0 && !better) continue;
            best[i] = values[i];
            index[i] = (n * channels + c + i) * plane + place;
          }
        }
      }
    }
  }
}

}  // namespace

Status KernelMaxPool2dIndices(const KernelArgs& args) {
  const DType dtype = args.inputs[0].dtype;
  if (dtype == DType::kBool) return UnsupportedDType(args.op, dtype);
  return VisitLane(args.op, dtype, [&](auto lane) {
    FindLargest<decltype(lane)>(args);
    return OkStatus();
  });
}

}  // namespace skiff
