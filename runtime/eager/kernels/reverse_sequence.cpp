// ReverseSequence.
#include "eager/kernels.h"
#include "eager/kernels/copy.h"
#include "ops/shape_rules.h"

namespace skiff {

using namespace eager;

/// The batch and time axes, in whichever order, split the tensor in runs that keep their inside.
Status KernelReverseSequence(const KernelArgs& args) {
  const auto& attrs = args.As<ReverseAttrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& lengths = args.inputs[1];
  const Shape& shape = x.shape;
  const int batch_axis = NormalizeAxis(attrs.batch_axis, shape.rank());
  const int time_axis = NormalizeAxis(attrs.time_axis, shape.rank());
  const int64_t batches = shape[batch_axis];
  const int64_t times = shape[time_axis];
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t length = IntegerAt(lengths, i);
    if (length < 0 || length > times) {
      return Fail(StatusCode::kInvalidArgument,
                  "ReverseSequence: length %lld of batch %lld is outside [0, %lld]",
                  static_cast<long long>(length), static_cast<long long>(i), static_cast<long long>(times));
    }
  }
  if (shape.elements() == 0) return OkStatus();
  const bool time_first = time_axis < batch_axis;
  const int first = time_first ? time_axis : batch_axis;
  const int second = time_first ? batch_axis : time_axis;
  const int64_t bytes = shape.ElementsBetween(second + 1, shape.rank()) * DTypeSize(x.dtype);
  const int64_t second_bytes = bytes * shape[second];
  const int64_t first_bytes = second_bytes * shape.ElementsBetween(first + 1, second);
  const int64_t middle = shape.ElementsBetween(first + 1, second);
  const int64_t outer = shape.ElementsBetween(0, first);
  const int64_t time_bytes = time_first ? first_bytes : bytes;
  const int64_t batch_bytes = time_first ? bytes : first_bytes;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t m = 0; m < middle; ++m) {
      const int64_t base = o * first_bytes * shape[first] + m * second_bytes;
      for (int64_t b = 0; b < batches; ++b) {
        const int64_t length = IntegerAt(lengths, b);
        const int64_t start = base + b * batch_bytes;
        for (int64_t t = 0; t < times; ++t) {
          const int64_t from = t < length ? length - 1 - t : t;
          CopyBytes(args.outputs[0].as<char>() + start + t * time_bytes,
                    x.as<const char>() + start + from * time_bytes, bytes);
        }
      }
    }
  }
  return OkStatus();
}

}  // namespace skiff
