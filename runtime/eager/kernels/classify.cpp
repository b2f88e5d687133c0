// Tests of floating-point elements: IsNaN and IsInf.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using namespace eager;

template <class Predicate>
void TestAll(const KernelArgs& args, Predicate&& holds) {
  const TensorView& x = args.inputs[0];
  const LoadFn<double> load = Loader<double>(x.dtype);
  auto* out = args.outputs[0].as<uint8_t>();
  const int64_t total = args.outputs[0].shape.elements();
  double lanes[kChunk];
  for (int64_t done = 0; done < total; done += kChunk) {
    const int64_t count = total - done < kChunk ? total - done : kChunk;
    load(x.data, done, 1, count, lanes);
    for (int64_t i = 0; i < count; ++i) out[done + i] = holds(lanes[i]) ? 1 : 0;
  }
}

}  // namespace

Status KernelTest(const KernelArgs& args) {
  if (!IsFloat(args.inputs[0].dtype)) return UnsupportedDType(args.op, args.inputs[0].dtype);
  if (args.op == OpCode::kIsNaN) {
    TestAll(args, [](double x) { return std::isnan(x); });
  } else {
    const auto& attrs = args.As<IsInfAttrs>();
    TestAll(args, [&](double x) { return std::isinf(x) && (x < 0 ? attrs.negative : attrs.positive); });
  }
  return OkStatus();
}

}  // namespace skiff
