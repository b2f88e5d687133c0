// Softmax and LogSoftmax along one axis.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

/// Loads the rows of one axis in chunks.
struct AxisRows {
  int64_t length;
  int64_t stride;

  template <class Visit>
  void ForEachChunk(Visit&& visit) const {
    for (int64_t done = 0; done < length; done += kChunk) {
      visit(done * stride, length - done < kChunk ? length - done : kChunk);
    }
  }
};

}  // namespace

Status KernelSoftmax(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  const int axis = NormalizeAxis(args.As<AxisAttrs>().axis, x.shape.rank());
  if (axis < 0) return Fail(StatusCode::kInvalidArgument, "Softmax: the axis lies outside the input");
  const bool is_log = args.op == OpCode::kLogSoftmax;
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const AxisRows row{x.shape[axis], inner};
  return VisitFloat(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    double lanes[kChunk];
    for (int64_t i = 0; i < outer * inner; ++i) {
      const int64_t first = i / inner * row.length * inner + i % inner;
      double highest = -std::numeric_limits<double>::infinity();
      row.ForEachChunk([&](int64_t offset, int64_t count) {
        LoadLanes<double, T>(x.data, first + offset, inner, count, lanes);
        for (int64_t k = 0; k < count; ++k) highest = lanes[k] > highest ? lanes[k] : highest;
      });
      double sum = 0;
      row.ForEachChunk([&](int64_t offset, int64_t count) {
        LoadLanes<double, T>(x.data, first + offset, inner, count, lanes);
        for (int64_t k = 0; k < count; ++k) sum += std::exp(lanes[k] - highest);
      });
      const double log_sum = std::log(sum);
      row.ForEachChunk([&](int64_t offset, int64_t count) {
        LoadLanes<double, T>(x.data, first + offset, inner, count, lanes);
        T* to = out.as<T>() + first + offset;
        for (int64_t k = 0; k < count; ++k) {
          const double shifted = lanes[k] - highest;
          to[k * inner] = Store<T>(is_log ? shifted - log_sum : std::exp(shifted) / sum);
        }
      });
    }
    return OkStatus();
  });
}

}  // namespace skiff
