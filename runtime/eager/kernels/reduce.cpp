// Reductions over any set of axes.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

template <class Lane>
Lane Sum(Lane total, Lane value) {
  if constexpr (std::is_same_v<Lane, double>) {
    return total + value;
  } else {
    return static_cast<Lane>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value));
  }
}

template <class Lane>
Lane Product(Lane total, Lane value) {
  if constexpr (std::is_same_v<Lane, double>) {
    return total * value;
  } else {
    return static_cast<Lane>(static_cast<uint64_t>(total) * static_cast<uint64_t>(value));
  }
}

/// NaN differs from itself and stays: no comparison with it is true.
template <class Lane>
Lane Highest(Lane total, Lane value) {
  return value > total || value != value ? value : total;
}

template <class Lane>
Lane Lowest(Lane total, Lane value) {
  return value < total || value != value ? value : total;
}

/// The axes of an input split in two walks. Operand 0 of `kept` is the output, the other operands are the
/// input.
struct ReducePlan {
  StridedWalk<2> kept;
  StridedWalk<1> reduced;
  int64_t reduced_count = 1;
  bool reduces_innermost = false;
};

ReducePlan PlanReduce(const Shape& shape, uint32_t mask) {
  const AxisStrides strides = DenseStrides(shape);
  int64_t out_strides[kMaxRank] = {};
  int64_t out_stride = 1;
  ReducePlan plan;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (((mask >> axis) & 1u) != 0) continue;
    out_strides[axis] = out_stride;
    out_stride *= shape[axis];
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t stride = strides[static_cast<size_t>(axis)];
    const bool is_reduced = ((mask >> axis) & 1u) != 0;
    if (is_reduced) {
      plan.reduced.Append(shape[axis], {stride});
      plan.reduced_count *= shape[axis];
    } else {
      plan.kept.Append(shape[axis], {out_strides[axis], stride});
    }
    if (shape[axis] != 1) plan.reduces_innermost = is_reduced;
  }
  return plan;
}

template <auto kJoin, class Lane>
void ReduceAll(const ReducePlan& plan, Lane initial, bool is_mean, const TensorView& x,
               const TensorView& out) {
  const LoadFn<Lane> load = Loader<Lane>(x.dtype);
  const StoreFn<Lane> store = Storer<Lane>(out.dtype);
  Lane totals[kChunk];
  Lane values[kChunk];
  // Where the innermost axis is kept, a run of outputs is accumulated together, so that memory is read in
  // order.
  plan.kept.ForEachRun(plan.reduces_innermost ? 1 : kChunk, [&](const auto& start, int64_t count,
                                                                const auto& step) {
    for (int64_t i = 0; i < count; ++i) totals[i] = initial;
    if (plan.reduces_innermost) {
      plan.reduced.ForEachRun(kChunk, [&](const auto& offset, int64_t run, const auto& stride) {
        load(x.data, start[1] + offset[0], stride[0], run, values);
        for (int64_t i = 0; i < run; ++i) totals[0] = kJoin(totals[0], values[i]);
      });
    } else {
      plan.reduced.ForEachOuter(plan.reduced.rank(), [&](const auto& offset) {
        load(x.data, start[1] + offset[0], step[1], count, values);
        for (int64_t i = 0; i < count; ++i) totals[i] = kJoin(totals[i], values[i]);
      });
    }
    if (is_mean) {
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<Lane, double>) {
          totals[i] /= static_cast<double>(plan.reduced_count);
        } else {
          totals[i] = plan.reduced_count == 0 ? Lane(0) : totals[i] / static_cast<Lane>(plan.reduced_count);
        }
      }
    }
    store(out.data, start[0], count, totals);
  });
}

}  // namespace

/// The mean of integers truncates toward zero, as their division does; of no integers it is 0, of no floats
/// NaN.
Status KernelReduce(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  uint32_t mask = 0;
  if (!ReducedAxes(args.As<ReduceAttrs>(), x.shape.rank(), &mask)) {
    return Fail(StatusCode::kInvalidArgument, "%s: an axis lies outside the input", FindOp(args.op)->name);
  }
  const ReducePlan plan = PlanReduce(x.shape, mask);
  const bool is_extremum = args.op == OpCode::kReduceMax || args.op == OpCode::kReduceMin;
  if (x.dtype == DType::kBool && !is_extremum) return UnsupportedDType(args.op, x.dtype);
  return VisitLane(args.op, x.dtype, [&](auto tag) -> Status {
    using Lane = decltype(tag);
    switch (args.op) {
      case OpCode::kReduceSum:
        ReduceAll<Sum<Lane>>(plan, Lane(0), false, x, out);
        break;
      case OpCode::kReduceMean:
        ReduceAll<Sum<Lane>>(plan, Lane(0), true, x, out);
        break;
      case OpCode::kReduceProd:
        ReduceAll<Product<Lane>>(plan, Lane(1), false, x, out);
        break;
      case OpCode::kReduceMax:
        ReduceAll<Highest<Lane>>(plan, LowestOf<Lane>(x.dtype), false, x, out);
        break;
      case OpCode::kReduceMin:
        ReduceAll<Lowest<Lane>>(plan, HighestOf<Lane>(x.dtype), false, x, out);
        break;
      default:
        return Fail(StatusCode::kInternal, "operator %d is not a reduction", static_cast<int>(args.op));
    }
    return OkStatus();
  });
}

}  // namespace skiff
