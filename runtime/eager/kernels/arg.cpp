// ArgMax and ArgMin.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

template <class Lane>
struct ArgSearch {
  LoadFn<Lane> load;
  const void* data;
  int64_t extent;
  int64_t inner;  ///< Elements from one index of the axis to the next.
  bool max;
  bool select_last;

  /// Whether `value`, which comes after `best`, takes its place.
  bool Wins(Lane value, Lane best) const {
    // Only NaN differs from itself; it wins over numbers.
    const bool value_is_nan = value != value;
    const bool best_is_nan = best != best;
    if (value_is_nan || best_is_nan) return value_is_nan && (!best_is_nan || select_last);
    if (value == best) return select_last;
    return (value > best) == max;
  }

  /// The axis is the innermost one.
  int64_t AlongRow(int64_t offset) const {
    Lane values[kChunk];
    Lane best = {};
    int64_t chosen = -1;
    for (int64_t done = 0; done < extent; done += kChunk) {
      const int64_t count = extent - done < kChunk ? extent - done : kChunk;
      load(data, offset + done, 1, count, values);
      for (int64_t i = 0; i < count; ++i) {
        if (chosen >= 0 && !Wins(values[i], best)) continue;
        best = values[i];
        chosen = done + i;
      }
    }
    return chosen;
  }

  /// `count` searches beside each other, so that memory is read in order.
  void BesideAxis(int64_t offset, int64_t count, int64_t* chosen) const {
    Lane best[kChunk];
    Lane values[kChunk];
    load(data, offset, 1, count, best);
    for (int64_t j = 0; j < count; ++j) chosen[j] = 0;
    for (int64_t i = 1; i < extent; ++i) {
      load(data, offset + i * inner, 1, count, values);
      for (int64_t j = 0; j < count; ++j) {
        if (!Wins(values[j], best[j])) continue;
        best[j] = values[j];
        chosen[j] = i;
      }
    }
  }
};

}  // namespace

Status KernelArg(const KernelArgs& args) {
  const auto& attrs = args.As<ArgAttrs>();
  const TensorView& x = args.inputs[0];
  auto* out = args.outputs[0].as<int64_t>();
  if (args.outputs[0].shape.elements() == 0) return OkStatus();
  const int axis = NormalizeAxis(attrs.axis, x.shape.rank());
  const int64_t extent = x.shape[axis];
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  return VisitLane(args.op, x.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    const ArgSearch<Lane> search{Loader<Lane>(x.dtype),      x.data,           extent, inner,
                                 args.op == OpCode::kArgMax, attrs.select_last};
    for (int64_t o = 0; o < outer; ++o) {
      if (inner == 1) {
        out[o] = search.AlongRow(o * extent);
        continue;
      }
      for (int64_t done = 0; done < inner; done += kChunk) {
        const int64_t count = inner - done < kChunk ? inner - done : kChunk;
        search.BesideAxis(o * extent * inner + done, count, out + o * inner + done);
      }
    }
    return OkStatus();
  });
}

}  // namespace skiff
