// CumSum.
#include "eager/dispatch.h"
#include "eager/kernels.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

template <class Lane>
Lane Sum(Lane a, Lane b) {
  if constexpr (std::is_same_v<Lane, double>) {
    return a + b;
  } else {
    return static_cast<Lane>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

}  // namespace

/// Sums beside the axis grow side by side, so that memory is read in order.
Status KernelCumSum(const KernelArgs& args) {
  const auto& attrs = args.As<CumSumAttrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  const int64_t requested = IntegerAt(args.inputs[1], 0);
  const int axis = NormalizeAxis(requested, x.shape.rank());
  if (axis < 0) {
    return Fail(StatusCode::kInvalidArgument, "CumSum: axis %lld is outside an input of rank %d",
                static_cast<long long>(requested), x.shape.rank());
  }
  if (x.dtype == DType::kBool) return UnsupportedDType(args.op, x.dtype);
  const int64_t extent = x.shape[axis];
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  if (args.outputs[0].shape.elements() == 0) return OkStatus();
  return VisitLane(args.op, x.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    const LoadFn<Lane> load = Loader<Lane>(x.dtype);
    const StoreFn<Lane> store = Storer<Lane>(out.dtype);
    Lane values[kChunk];
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t done = 0; done < inner; done += kChunk) {
        const int64_t count = inner - done < kChunk ? inner - done : kChunk;
        Lane sums[kChunk] = {};
        for (int64_t i = 0; i < extent; ++i) {
          const int64_t step = attrs.reverse ? extent - 1 - i : i;
          const int64_t offset = (o * extent + step) * inner + done;
          load(x.data, offset, 1, count, values);
          if (attrs.exclusive) store(out.data, offset, count, sums);
          for (int64_t j = 0; j < count; ++j) sums[j] = Sum(sums[j], values[j]);
          if (!attrs.exclusive) store(out.data, offset, count, sums);
        }
      }
    }
    return OkStatus();
  });
}

}  // namespace skiff
