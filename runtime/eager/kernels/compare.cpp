// Comparisons and Where.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using namespace eager;

template <class Lane, class Relation>
void CompareAll(const KernelArgs& args, Relation relation) {
  const TensorView& a = args.inputs[0];
  const TensorView& b = args.inputs[1];
  const LoadFn<Lane> load_a = Loader<Lane>(a.dtype);
  const LoadFn<Lane> load_b = Loader<Lane>(b.dtype);
  Lane left[kChunk];
  Lane right[kChunk];
  const auto walk = BroadcastWalk(args.outputs[0].shape, a.shape, b.shape);
  walk.ForEachRun(kChunk, [&](const auto& offsets, int64_t count, const auto& strides) {
    load_a(a.data, offsets[1], strides[1], count, left);
    load_b(b.data, offsets[2], strides[2], count, right);
    uint8_t* out = args.outputs[0].as<uint8_t>() + offsets[0];
    for (int64_t i = 0; i < count; ++i) out[i] = relation(left[i], right[i]) ? 1 : 0;
  });
}

}  // namespace

Status KernelCompare(const KernelArgs& args) {
  return VisitLane(args.op, args.inputs[0].dtype, [&](auto tag) -> Status {
    using Lane = decltype(tag);
    switch (args.op) {
      case OpCode::kEqual:
        CompareAll<Lane>(args, [](Lane a, Lane b) { return a == b; });
        break;
      case OpCode::kLess:
        CompareAll<Lane>(args, [](Lane a, Lane b) { return a < b; });
        break;
      case OpCode::kLessOrEqual:
        CompareAll<Lane>(args, [](Lane a, Lane b) { return a <= b; });
        break;
      case OpCode::kGreater:
        CompareAll<Lane>(args, [](Lane a, Lane b) { return a > b; });
        break;
      case OpCode::kGreaterOrEqual:
        CompareAll<Lane>(args, [](Lane a, Lane b) { return a >= b; });
        break;
      default:
        return Fail(StatusCode::kInternal, "operator %d is not a comparison", static_cast<int>(args.op));
    }
    return OkStatus();
  });
}

Status KernelWhere(const KernelArgs& args) {
  const TensorView& condition = args.inputs[0];
  const TensorView& a = args.inputs[1];
  const TensorView& b = args.inputs[2];
  const TensorView& out = args.outputs[0];
  return VisitSize(args.op, out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto walk = BroadcastWalk(out.shape, condition.shape, a.shape, b.shape);
    walk.ForEachRun([&](const auto& offsets, int64_t count, const auto& strides) {
      const uint8_t* choose = condition.as<const uint8_t>() + offsets[1];
      const T* yes = a.as<const T>() + offsets[2];
      const T* no = b.as<const T>() + offsets[3];
      T* to = out.as<T>() + offsets[0];
      for (int64_t i = 0; i < count; ++i) {
        to[i] = choose[i * strides[1]] != 0 ? yes[i * strides[2]] : no[i * strides[3]];
      }
    });
    return OkStatus();
  });
}

}  // namespace skiff
