// ScatterElements and ScatterND. The output is the accumulator: each step of a reduction is rounded to the
// dtype, as the specification's loop does it.
#include "eager/kernels.h"
#include "eager/kernels/copy.h"
#include "eager/kernels/scatter_places.h"

namespace skiff {
namespace {

using namespace eager;

/// NaN stays: no comparison with it is true.
template <class Lane>
Lane Reduced(ScatterReduction reduction, Lane a, Lane b) {
  if (reduction == ScatterReduction::kMin) return b < a || b != b ? b : a;
  if (reduction == ScatterReduction::kMax) return a < b || b != b ? b : a;
  const bool adds = reduction == ScatterReduction::kAdd;
  if constexpr (std::is_same_v<Lane, double>) {
    return adds ? a + b : a * b;
  } else {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    return static_cast<Lane>(adds ? x + y : x * y);
  }
}

/// Joins `count` updates that lie side by side to what lies at `offset` of the output.
template <class Lane>
void JoinRun(const TensorView& updates, int64_t from, const TensorView& out, int64_t offset, int64_t count,
             ScatterReduction reduction) {
  const LoadFn<Lane> load = Loader<Lane>(out.dtype);
  const StoreFn<Lane> store = Storer<Lane>(out.dtype);
  Lane lanes[kChunk];
  Lane joined[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t run = count - done < kChunk ? count - done : kChunk;
    load(out.data, offset + done, 1, run, lanes);
    load(updates.data, from + done, 1, run, joined);
    for (int64_t i = 0; i < run; ++i) lanes[i] = Reduced(reduction, lanes[i], joined[i]);
    store(out.data, offset + done, run, lanes);
  }
}

Status Scatter(const KernelArgs& args) {
  const TensorView& indices = args.inputs[1];
  const TensorView& updates = args.inputs[2];
  const TensorView& out = args.outputs[0];
  const ScatterReduction reduction = args.As<ScatterAttrs>().reduction;
  const bool is_extremum = reduction == ScatterReduction::kMin || reduction == ScatterReduction::kMax;
  if (reduction != ScatterReduction::kNone && !is_extremum && out.dtype == DType::kBool) {
    return UnsupportedDType(args.op, out.dtype);
  }
  const ScatterPlaces places(args.op, args.As<ScatterAttrs>(), out.shape, indices.shape);
  SKIFF_RETURN_IF_ERROR(places.Check(indices));
  CopyBytes(out.data, args.inputs[0].data, out.bytes());
  if (reduction == ScatterReduction::kNone) {
    const int64_t size = DTypeSize(out.dtype);
    places.ForEach(indices, [&](int64_t offset, int64_t from, int64_t count) {
      CopyBytes(out.as<char>() + offset * size, updates.as<const char>() + from * size, count * size);
    });
    return OkStatus();
  }
  return VisitLane(args.op, out.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    places.ForEach(indices, [&](int64_t offset, int64_t from, int64_t count) {
      JoinRun<Lane>(updates, from, out, offset, count, reduction);
    });
    return OkStatus();
  });
}

}  // namespace

Status KernelScatterElements(const KernelArgs& args) { return Scatter(args); }
Status KernelScatterND(const KernelArgs& args) { return Scatter(args); }

}  // namespace skiff
