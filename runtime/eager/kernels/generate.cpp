// Kernels that make elements: Fill and Range.
#include "eager/kernels.h"
#include "eager/kernels/copy.h"

namespace skiff {
namespace {

using namespace eager;

template <class Lane>
Lane RangeElement(Lane start, Lane delta, int64_t i) {
  if constexpr (std::is_same_v<Lane, double>) {
    return start + static_cast<double>(i) * delta;
  } else {
    return static_cast<Lane>(static_cast<uint64_t>(start) +
                             static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  }
}

}  // namespace

Status KernelFill(const KernelArgs& args) {
  const auto& attrs = args.As<FillAttrs>();
  const TensorView& out = args.outputs[0];
  // One element is rounded or wrapped to the dtype, then repeated by its size.
  alignas(8) unsigned char element[8] = {};
  if (IsFloat(out.dtype)) {
    const auto value = static_cast<double>(attrs.value);
    Storer<double>(out.dtype)(element, 0, 1, &value);
  } else {
    const StoreFn<int64_t> store = Storer<int64_t>(out.dtype);
    if (store == nullptr) return UnsupportedDType(args.op, out.dtype);
    store(element, 0, 1, &attrs.integer);
  }
  return VisitSize(args.op, out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T value;
    std::memcpy(&value, element, sizeof(T));
    FillRun(out.as<T>(), out.shape.elements(), value);
    return OkStatus();
  });
}

/// Element i is start + i * delta, not a running sum, so that errors do not add up.
Status KernelRange(const KernelArgs& args) {
  const TensorView& out = args.outputs[0];
  return VisitLane(args.op, out.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    Lane start;
    Lane delta;
    Loader<Lane>(out.dtype)(args.inputs[0].data, 0, 1, 1, &start);
    Loader<Lane>(out.dtype)(args.inputs[2].data, 0, 1, 1, &delta);
    Lane lanes[kChunk];
    const int64_t total = out.shape.elements();
    for (int64_t done = 0; done < total; done += kChunk) {
      const int64_t count = total - done < kChunk ? total - done : kChunk;
      for (int64_t i = 0; i < count; ++i) lanes[i] = RangeElement(start, delta, done + i);
      Storer<Lane>(out.dtype)(out.data, done, count, lanes);
    }
    return OkStatus();
  });
}

}  // namespace skiff
