// ArgMax and ArgMin.
#include "eager/dispatch.h"
#include "eager/kernels.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

/// Whether `value`, which comes after `best`, takes its place.
template <class Lane>
bool Wins(Lane value, Lane best, bool max, bool select_last) {
  // Only NaN differs from itself; it wins over numbers.
  const bool value_is_nan = value != value;
  const bool best_is_nan = best != best;
  if (value_is_nan || best_is_nan) return value_is_nan && (!best_is_nan || select_last);
  if (value == best) return select_last;
  return (value > best) == max;
}

}  // namespace

/// Elements beside the axis are compared side by side, so that memory is read in order.
Status KernelArg(const KernelArgs& args) {
  const auto& attrs = args.As<ArgAttrs>();
  const TensorView& x = args.inputs[0];
  auto* out = args.outputs[0].as<int64_t>();
  const bool max = args.op == OpCode::kArgMax;
  const int axis = NormalizeAxis(attrs.axis, x.shape.rank());
  const int64_t extent = x.shape[axis];
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  if (args.outputs[0].shape.elements() == 0) return OkStatus();
  return VisitLane(args.op, x.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    const LoadFn<Lane> load = Loader<Lane>(x.dtype);
    Lane best[kChunk];
    Lane values[kChunk];
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t done = 0; done < inner; done += kChunk) {
        const int64_t count = inner - done < kChunk ? inner - done : kChunk;
        int64_t* chosen = out + o * inner + done;
        for (int64_t i = 0; i < extent; ++i) {
          load(x.data, (o * extent + i) * inner + done, 1, count, i == 0 ? best : values);
          for (int64_t j = 0; j < count; ++j) {
            if (i > 0 && !Wins(values[j], best[j], max, attrs.select_last)) continue;
            if (i > 0) best[j] = values[j];
            chosen[j] = i;
          }
        }
      }
    }
    return OkStatus();
  });
}

}  // namespace skiff
