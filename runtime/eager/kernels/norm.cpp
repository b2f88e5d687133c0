// Layer and batch normalisation.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

Status AxisOf(const KernelArgs& args, int* axis) {
  *axis = NormalizeAxis(args.As<NormAttrs>().axis, args.inputs[0].shape.rank());
  if (*axis >= 0) return OkStatus();
  return Fail(StatusCode::kInvalidArgument, "%s: the axis lies outside the input", FindOp(args.op)->name);
}

/// Calls visit(first, count) for the chunks of `length` elements.
template <class Visit>
void ForEachChunk(int64_t length, Visit&& visit) {
  for (int64_t done = 0; done < length; done += kChunk)
    visit(done, length - done < kChunk ? length - done : kChunk);
}

}  // namespace

Status KernelLayerNorm(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(AxisOf(args, &axis));
  const int64_t length = x.shape.ElementsBetween(axis, x.shape.rank());
  const int64_t rows = x.shape.ElementsBetween(0, axis);
  const auto epsilon = static_cast<double>(args.As<NormAttrs>().epsilon);
  return VisitFloat(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    double values[kChunk];
    double factors[kChunk];
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t start = row * length;
      double sum = 0;
      ForEachChunk(length, [&](int64_t first, int64_t count) {
        LoadLanes<double, T>(x.data, start + first, 1, count, values);
        for (int64_t i = 0; i < count; ++i) sum += values[i];
      });
      const double mean = sum / static_cast<double>(length);
      double squares = 0;
      ForEachChunk(length, [&](int64_t first, int64_t count) {
        LoadLanes<double, T>(x.data, start + first, 1, count, values);
        for (int64_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
      });
      const double deviation = std::sqrt(squares / static_cast<double>(length) + epsilon);
      ForEachChunk(length, [&](int64_t first, int64_t count) {
        LoadLanes<double, T>(x.data, start + first, 1, count, values);
        LoadLanes<double, T>(args.inputs[1].data, first, 1, count, factors);
        for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) / deviation * factors[i];
        if (args.Has(2)) {
          LoadLanes<double, T>(args.inputs[2].data, first, 1, count, factors);
          for (int64_t i = 0; i < count; ++i) values[i] += factors[i];
        }
        StoreLanes<double, T>(out.data, start + first, count, values);
      });
    }
    return OkStatus();
  });
}

Status KernelBatchNorm(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  int axis = 0;
  SKIFF_RETURN_IF_ERROR(AxisOf(args, &axis));
  const int64_t channels = x.shape[axis];
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  const auto epsilon = static_cast<double>(args.As<NormAttrs>().epsilon);
  return VisitFloat(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    double values[kChunk];
    double factors[kChunk];
    double bias[kChunk];
    double mean[kChunk];
    ForEachChunk(channels, [&](int64_t first, int64_t count) {
      LoadLanes<double, T>(args.inputs[1].data, first, 1, count, factors);
      LoadLanes<double, T>(args.inputs[2].data, first, 1, count, bias);
      LoadLanes<double, T>(args.inputs[3].data, first, 1, count, mean);
      LoadLanes<double, T>(args.inputs[4].data, first, 1, count, values);
      for (int64_t c = 0; c < count; ++c) factors[c] /= std::sqrt(values[c] + epsilon);
      for (int64_t i = 0; i < outer; ++i) {
        const int64_t start = (i * channels + first) * inner;
        // With the channels innermost a row of them is a chunk; else each channel is a run of its own.
        if (inner == 1) {
          LoadLanes<double, T>(x.data, start, 1, count, values);
          for (int64_t c = 0; c < count; ++c) values[c] = (values[c] - mean[c]) * factors[c] + bias[c];
          StoreLanes<double, T>(out.data, start, count, values);
          continue;
        }
        for (int64_t c = 0; c < count; ++c) {
          ForEachChunk(inner, [&](int64_t begin, int64_t run) {
            LoadLanes<double, T>(x.data, start + c * inner + begin, 1, run, values);
            for (int64_t k = 0; k < run; ++k) values[k] = (values[k] - mean[c]) * factors[c] + bias[c];
            StoreLanes<double, T>(out.data, start + c * inner + begin, run, values);
          });
        }
      }
    });
    return OkStatus();
  });
}

}  // namespace skiff
