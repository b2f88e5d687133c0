// TopK.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

/// The elements of one line along the axis, and the indices of the best of them as a binary heap in the
/// output, its root being the worst. J. W. J. Williams, Algorithm 232 (Heapsort), 1964. A line of n elements
/// costs n comparisons with the root, and a descent of log k steps for each element that is better.
template <class Lane>
struct TopKLine {
  LoadFn<Lane> load;
  const void* data;
  int64_t offset;
  int64_t stride;  ///< Elements from one index to the next, of the input and of both outputs.
  bool largest;
  int64_t* heap;

  Lane At(int64_t index) const {
    Lane lane;
    load(data, offset + index * stride, 0, 1, &lane);
    return lane;
  }
  int64_t& Heap(int64_t i) const { return heap[i * stride]; }

  /// NaN counts as larger than every number, so that the order is total.
  static bool Less(Lane a, Lane b) { return a < b || (b != b && a == a); }
  bool Better(Lane a, Lane b) const { return largest ? Less(b, a) : Less(a, b); }
  /// Of equal elements the one with the smaller index is better.
  bool Worse(int64_t a, int64_t b) const {
    const Lane x = At(a);
    const Lane y = At(b);
    return Better(y, x) || (!Better(x, y) && b < a);
  }

  /// Lets the element at `hole` sink among the first `size`, until no child is worse.
  void Sink(int64_t hole, int64_t size) const {
    const int64_t index = Heap(hole);
    for (int64_t child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && Worse(Heap(child + 1), Heap(child))) ++child;
      if (!Worse(Heap(child), index)) break;
      Heap(hole) = Heap(child);
      hole = child;
    }
    Heap(hole) = index;
  }

  /// Leaves the indices of the `k` best of `extent` elements in the heap's place, best first.
  void Select(int64_t k, int64_t extent) const {
    for (int64_t i = 0; i < k; ++i) Heap(i) = i;
    for (int64_t i = k / 2 - 1; i >= 0; --i) Sink(i, k);
    Lane lanes[kChunk];
    Lane worst = At(Heap(0));
    for (int64_t done = k; done < extent; done += kChunk) {
      const int64_t count = extent - done < kChunk ? extent - done : kChunk;
      load(data, offset + done * stride, stride, count, lanes);
      for (int64_t i = 0; i < count; ++i) {
        if (!Better(lanes[i], worst)) continue;
        Heap(0) = done + i;
        Sink(0, k);
        worst = At(Heap(0));
      }
    }
    for (int64_t size = k - 1; size > 0; --size) {
      const int64_t root = Heap(0);
      Heap(0) = Heap(size);
      Heap(size) = root;
      Sink(0, size);
    }
  }
};

}  // namespace

Status KernelTopK(const KernelArgs& args) {
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
        const TopKLine<Lane> line{load,  x.data,        o * extent * inner + i,
                                  inner, attrs.largest, indices + first};
        line.Select(k, extent);
        for (int64_t j = 0; j < k; ++j) {
          const Lane lane = line.At(line.Heap(j));
          store(values.data, first + j * inner, 1, &lane);
        }
      }
    }
    return OkStatus();
  });
}

}  // namespace skiff
