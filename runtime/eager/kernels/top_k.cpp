// TopK.
#include "eager/kernels.h"
#include "eager/kernels/best_indices.h"
#include "eager/kernels/dispatch.h"
#include "ops/shape_rules.h"

namespace skiff {

Status KernelTopK(const KernelArgs& args) {
  using namespace eager;
  const auto& attrs = args.As<TopKAttrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& values = args.outputs[0];
  auto* indices = args.outputs[1].as<int64_t>();
  const int axis = NormalizeAxis(attrs.axis, x.shape.rank());
  const int64_t extent = x.shape[axis];
  const int64_t k = values.shape[axis];
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  if (values.shape.elements() == 0) return OkStatus();
  return VisitLane(args.op, x.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    const LoadFn<Lane> load = Loader<Lane>(x.dtype);
    const StoreFn<Lane> store = Storer<Lane>(values.dtype);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t first = o * k * inner + i;
        const int64_t offset = o * extent * inner + i;
        const auto at = [&](int64_t index) {
          Lane lane;
          load(x.data, offset + index * inner, 0, 1, &lane);
          return lane;
        };
        const BestIndices<Lane, decltype(at)> best{at, indices + first, inner, attrs.largest};
        Lane lanes[kChunk];
        Lane worst = best.Begin(k);
        for (int64_t done = k; done < extent; done += kChunk) {
          const int64_t count = extent - done < kChunk ? extent - done : kChunk;
          load(x.data, offset + done * inner, inner, count, lanes);
          for (int64_t j = 0; j < count; ++j) worst = best.Offer(k, done + j, lanes[j], worst);
        }
        best.Sort(k);
        for (int64_t j = 0; j < k; ++j) {
          const Lane lane = at(best.Heap(j));
          store(values.data, first + j * inner, 1, &lane);
        }
      }
    }
    return OkStatus();
  });
}

}  // namespace skiff
