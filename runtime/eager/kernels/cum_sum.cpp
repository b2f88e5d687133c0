// CumSum.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
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

template <class Lane>
struct Scan {
  LoadFn<Lane> load;
  StoreFn<Lane> store;
  const void* data;
  void* out;
  int64_t extent;
  int64_t inner;  ///< Elements from one index of the axis to the next.
  bool exclusive;
  bool reverse;

  /// The axis is the innermost one.
  void AlongRow(int64_t offset) const {
    Lane lanes[kChunk];
    Lane sum = 0;
    for (int64_t done = 0; done < extent; done += kChunk) {
      const int64_t count = extent - done < kChunk ? extent - done : kChunk;
      const int64_t first = offset + (reverse ? extent - done - count : done);
      load(data, first, 1, count, lanes);
      for (int64_t i = 0; i < count; ++i) {
        Lane& lane = lanes[reverse ? count - 1 - i : i];
        const Lane before = sum;
        sum = Sum(sum, lane);
        lane = exclusive ? before : sum;
      }
      store(out, first, count, lanes);
    }
  }

  /// `count` sums beside each other, so that memory is read in order.
  void BesideAxis(int64_t offset, int64_t count) const {
    Lane lanes[kChunk];
    Lane sums[kChunk] = {};
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t at = offset + (reverse ? extent - 1 - i : i) * inner;
      load(data, at, 1, count, lanes);
      if (exclusive) store(out, at, count, sums);
      for (int64_t j = 0; j < count; ++j) sums[j] = Sum(sums[j], lanes[j]);
      if (!exclusive) store(out, at, count, sums);
    }
  }
};

}  // namespace

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
  if (out.shape.elements() == 0) return OkStatus();
  const int64_t extent = x.shape[axis];
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  return VisitLane(args.op, x.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    const Scan<Lane> scan{
        Loader<Lane>(x.dtype), Storer<Lane>(out.dtype), x.data, out.data, extent, inner, attrs.exclusive,
        attrs.reverse};
    for (int64_t o = 0; o < outer; ++o) {
      if (inner == 1) {
        scan.AlongRow(o * extent);
        continue;
      }
      for (int64_t done = 0; done < inner; done += kChunk) {
        const int64_t count = inner - done < kChunk ? inner - done : kChunk;
        scan.BesideAxis(o * extent * inner + done, count);
      }
    }
    return OkStatus();
  });
}

}  // namespace skiff
