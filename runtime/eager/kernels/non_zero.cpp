// NonZero.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {

Status KernelNonZero(const KernelArgs& args) {
  using namespace eager;
  const TensorView& x = args.inputs[0];
  const int64_t expected = args.outputs[0].shape[1];
  auto* out = args.outputs[0].as<int64_t>();
  const LoadFn<double> load = Loader<double>(x.dtype);
  if (load == nullptr) return UnsupportedDType(args.op, x.dtype);
  const int rank = x.shape.rank();
  const int64_t elements = x.shape.elements();
  int64_t found = 0;
  double lanes[kChunk];
  for (int64_t done = 0; done < elements; done += kChunk) {
    const int64_t count = elements - done < kChunk ? elements - done : kChunk;
    load(x.data, done, 1, count, lanes);
    for (int64_t i = 0; i < count; ++i) {
      if (lanes[i] == 0) continue;
      if (found < expected) {
        int64_t rest = done + i;
        if (rank == 0) out[found] = 0;
        for (int axis = rank - 1; axis >= 0; --axis) {
          out[axis * expected + found] = rest % x.shape[axis];
          rest /= x.shape[axis];
        }
      }
      ++found;
    }
  }
  if (found == expected) return OkStatus();
  return Fail(StatusCode::kInvalidArgument, "NonZero: %lld elements are not 0, the count is %lld",
              static_cast<long long>(found), static_cast<long long>(IntegerAt(args.inputs[1], 0)));
}

}  // namespace skiff
