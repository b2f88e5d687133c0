// Shape rules of operators whose extents are computed from values: Slice, Fill, Random and Range.
#include <cmath>
#include <cstring>

#include "ops/shape_rules.h"
#include "ops/shape_values.h"

namespace skiff {

namespace {

/// Bounds at least this far out mean "to the end": exporters write the largest or smallest integer, or a
/// billion.
constexpr int64_t kFarAway = 1'000'000'000;

/// The clamped position of a bound on an axis whose extent or bound is symbolic. False where its sign is
/// unknown.
template <class D>
bool SymbolicBound(const D& extent, const D& bound, bool forward, D* position) {
  const D high = forward ? extent : extent + D(-1);
  const D low = D(forward ? 0 : -1);
  if (!IsKnown(bound)) {
    *position = MinExtent(bound, high);
    return IsNonNegative(bound);
  }
  const int64_t value = KnownValue(bound);
  if (value >= 0) {
    *position = value == 0 && forward ? low : (value >= kFarAway ? high : MinExtent(bound, high));
  } else if (value == -1 && !forward) {
    *position = high;
  } else {
    *position = value <= -kFarAway ? low : MaxExtent(extent + bound, low);
  }
  return true;
}

template <class D>
bool SliceCount(const D& extent, const D& start, const D& end, int64_t step, D* count) {
  if (IsKnown(extent) && IsKnown(start) && IsKnown(end)) {
    *count = D(ResolveSlice(KnownValue(extent), KnownValue(start), KnownValue(end), step).count);
    return true;
  }
  const bool forward = step > 0;
  D first;
  D last;
  if (step <= -kFarAway || !SymbolicBound(extent, start, forward, &first) ||
      !SymbolicBound(extent, end, forward, &last)) {
    return false;
  }
  if (!forward) std::swap(first, last);
  const D stride(forward ? step : -step);
  // Bounds that start at 0 cannot cross, and the plain quotient is easier to reason about later.
  *count = forward && IsValue(first, 0) ? CeilDivide(last, stride)
                                        : MaxExtent(CeilDivide(last + first * D(-1), stride), D(0));
  return true;
}

/// max(ceil((limit - start) / delta), 0) without overflow; -1 when it does not fit.
int64_t IntegerRangeCount(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto first = static_cast<uint64_t>(delta > 0 ? start : limit);
  const auto last = static_cast<uint64_t>(delta > 0 ? limit : start);
  const uint64_t stride =
      delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
  const uint64_t count = (last - first - 1) / stride + 1;
  return count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? -1
                                                                            : static_cast<int64_t>(count);
}

template <class D>
bool ReadFloat(const InferInput<D>& input, double* value) {
  if (input.constant == nullptr) return false;
  if (input.dtype == DType::kF64) {
    std::memcpy(value, input.constant, sizeof(double));
  } else {
    float narrow = 0;
    std::memcpy(&narrow, input.constant, sizeof(float));
    *value = static_cast<double>(narrow);
  }
  return true;
}

template <class D>
Status FloatRange(InferContext<D>& context, D* count) {
  double numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!ReadFloat(context.inputs[i], &numbers[i])) {
      return context.Error("input %zu of a floating-point range must be constant", i);
    }
  }
  const double steps = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  // Written so that NaN, which comes from infinite bounds or a delta of 0, fails too.
  if (!(numbers[2] != 0.0) || !(steps < 1e15)) {
    return context.Error("from %g to %g by %g is not a finite range", numbers[0], numbers[1], numbers[2]);
  }
  *count = D(steps > 0 ? static_cast<int64_t>(steps) : 0);
  return OkStatus();
}

template <class D>
Status IntegerRange(InferContext<D>& context, D* count) {
  ShapeValues<D> numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, i, "a bound or the step", &numbers[i]));
    if (numbers[i].count != 1) return context.Error("input %zu must be one number", i);
  }
  const D& start = numbers[0][0];
  const D& limit = numbers[1][0];
  const D& delta = numbers[2][0];
  if (!IsKnown(delta) || KnownValue(delta) == 0) return context.Error("the step must be known and not 0");
  if (IsKnown(start) && IsKnown(limit)) {
    const int64_t steps = IntegerRangeCount(KnownValue(start), KnownValue(limit), KnownValue(delta));
    if (steps < 0) return context.Error("the range has more than 2^63 numbers");
    *count = D(steps);
    return OkStatus();
  }
  const bool up = KnownValue(delta) > 0;
  if (KnownValue(delta) <= -kFarAway) return context.Error("the step is out of range");
  const D distance = up ? limit + start * D(-1) : start + limit * D(-1);
  *count = MaxExtent(CeilDivide(distance, D(up ? KnownValue(delta) : -KnownValue(delta))), D(0));
  return OkStatus();
}

}  // namespace

/// Inputs: x, starts, ends, axes (or absent: the first ones), steps (or absent: 1).
template <class D>
Status InferSlice(InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  static constexpr const char* kNames[] = {"", "the starts", "the ends", "the axes", "the steps"};
  ShapeValues<D> lists[5];
  for (size_t i = 1; i < 5; ++i) {
    if (i <= 2 || context.Has(i)) SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, i, kNames[i], &lists[i]));
  }
  const int64_t count = lists[1].count;
  for (size_t i = 1; i < 5; ++i) {
    if ((i <= 2 || context.Has(i)) && (lists[i].count != count || count > x.rank)) {
      return context.Error("%s are %lld, the starts are %lld, the input has rank %d", kNames[i],
                           static_cast<long long>(lists[i].count), static_cast<long long>(count), x.rank);
    }
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) out.extents[i] = x.extents[i];
  uint32_t seen = 0;
  for (int64_t i = 0; i < count; ++i) {
    int axis = static_cast<int>(i);
    if (context.Has(3)) axis = IsKnown(lists[3][i]) ? NormalizeAxis(KnownValue(lists[3][i]), x.rank) : -1;
    if (axis < 0 || ((seen >> axis) & 1u) != 0) {
      return context.Error("an axis is named twice or lies outside an input of rank %d", x.rank);
    }
    seen |= 1u << axis;
    if (context.Has(4) && (!IsKnown(lists[4][i]) || KnownValue(lists[4][i]) == 0)) {
      return context.Error("the step of axis %d must be known and not 0", axis);
    }
    const int64_t step = context.Has(4) ? KnownValue(lists[4][i]) : 1;
    if (!SliceCount(x.extents[axis], lists[1][i], lists[2][i], step, &out.extents[axis])) {
      return context.Error("whether the start or end of axis %d counts from the end is unknown", axis);
    }
  }
  return OkStatus();
}

/// Input: the extents.
template <class D>
Status InferFill(InferContext<D>& context) {
  const int64_t dtype = context.template As<FillAttrs>().dtype;
  if (dtype <= 0 || dtype >= kDTypeCount)
    return context.Error("the dtype %lld is unknown", static_cast<long long>(dtype));
  ShapeValues<D> shape;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 0, "the shape", &shape));
  if (shape.count > kMaxRank)
    return context.Error("the shape has %lld axes, at most %d are possible",
                         static_cast<long long>(shape.count), kMaxRank);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = static_cast<DType>(dtype);
  out.rank = static_cast<int>(shape.count);
  for (int i = 0; i < out.rank; ++i) {
    SKIFF_RETURN_IF_ERROR(CheckExtent(context, shape[i], i));
    out.extents[i] = shape[i];
  }
  return OkStatus();
}

/// Inputs: the extents, the number of the run.
template <class D>
Status InferRandom(InferContext<D>& context) {
  const auto& attrs = context.template As<RandomAttrs>();
  const bool known = attrs.dtype > 0 && attrs.dtype < kDTypeCount;
  if (!known || !IsFloat(static_cast<DType>(attrs.dtype)))
    return context.Error("numbers of the dtype %s cannot be drawn; f16, f32 and f64 can",
                         known ? DTypeName(static_cast<DType>(attrs.dtype)) : "unknown");
  if (!(attrs.low <= attrs.high) || !(attrs.deviation >= 0))
    return context.Error("numbers between %g and %g with the deviation %g cannot be drawn",
                         static_cast<double>(attrs.low), static_cast<double>(attrs.high),
                         static_cast<double>(attrs.deviation));
  if (context.Has(1)) {
    const InferInput<D>& run = context.inputs[1];
    if (run.dtype != DType::kI64 || run.rank != 0)
      return context.Error("the number of the run must be an i64 of rank 0");
  }
  ShapeValues<D> shape;
  SKIFF_RETURN_IF_ERROR(ReadShapeValues(context, 0, "the shape", &shape));
  if (shape.count > kMaxRank)
    return context.Error("the shape has %lld axes, at most %d are possible",
                         static_cast<long long>(shape.count), kMaxRank);
  InferOutput<D>& out = context.outputs[0];
  out.dtype = static_cast<DType>(attrs.dtype);
  out.rank = static_cast<int>(shape.count);
  for (int i = 0; i < out.rank; ++i) {
    SKIFF_RETURN_IF_ERROR(CheckExtent(context, shape[i], i));
    out.extents[i] = shape[i];
  }
  return OkStatus();
}

/// Inputs: start, limit, delta, one number each.
template <class D>
Status InferRange(InferContext<D>& context) {
  const DType dtype = context.inputs[0].dtype;
  for (size_t i = 0; i < 3; ++i) {
    const InferInput<D>& input = context.inputs[i];
    if (input.dtype != dtype)
      return context.Error("the inputs have different dtypes: %s and %s", DTypeName(dtype),
                           DTypeName(input.dtype));
    if (input.rank > 1 || (input.rank == 1 && !IsValue(input.extents[0], 1))) {
      return context.Error("input %zu must be one number", i);
    }
  }
  const bool is_float = dtype == DType::kF32 || dtype == DType::kF64;
  if (!is_float && dtype != DType::kI32 && dtype != DType::kI64) {
    return context.Error("the dtype must be f32, f64, i32 or i64, not %s", DTypeName(dtype));
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = dtype;
  out.rank = 1;
  return is_float ? FloatRange(context, &out.extents[0]) : IntegerRange(context, &out.extents[0]);
}

SKIFF_INSTANTIATE_RULE(InferSlice);
SKIFF_INSTANTIATE_RULE(InferFill);
SKIFF_INSTANTIATE_RULE(InferRandom);
SKIFF_INSTANTIATE_RULE(InferRange);

}  // namespace skiff
