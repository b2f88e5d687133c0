// TensorFlow Lite rows: SLICE and STRIDED_SLICE.
#include <limits>

#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

/// A vector of integers, known or computed, of which elements are taken.
class Integers {
 public:
  Integers(TfliteBuilder& b, const char* name, size_t input)
      : b_(b), name_(name), value_(b.Integers(name, b.Input(input))) {
    if (const auto known = b.KnownValueOf(value_)) known_ = known->ToInts();
    count_ = known_ ? static_cast<int64_t>(known_->size()) : b.ExtentOf(value_, 0).value_or(-1);
    if (count_ < 0) TfliteBuilder::Unsupported("needs to know how many axes its {} has", name);
  }
  int64_t count() const { return count_; }
  std::optional<int64_t> At(int64_t i) const {
    return known_ ? std::optional((*known_)[static_cast<size_t>(i)]) : std::nullopt;
  }
  /// A vector of element i alone.
  ValueId Part(int64_t i) const {
    const std::string name = fmt::format("{}_{}", name_, i);
    if (known_) return b_.ConstantInts(name.c_str(), {*At(i)});
    return EmitSlice(b_, name.c_str(), value_, 0, i, i + 1);
  }

 private:
  TfliteBuilder& b_;
  const char* name_;
  ValueId value_;
  std::optional<std::vector<int64_t>> known_;
  int64_t count_ = 0;
};

/// Bounds along some axes, for one Slice.
struct Bounds {
  std::vector<int64_t> axes;
  std::vector<ValueId> starts, ends, steps;

  void Add(int64_t axis, ValueId start, ValueId end, ValueId step) {
    axes.push_back(axis);
    starts.push_back(start);
    ends.push_back(end);
    steps.push_back(step);
  }
  ValueId Emit(TfliteBuilder& b, ValueId x) const {
    if (axes.empty()) return x;
    const auto list = [&](const char* name, const std::vector<ValueId>& parts) {
      const ValueId joined =
          b.Emit(fmt::format("{}_joined", name).c_str(), OpCode::kConcat, parts, AxisAttrs{0});
      return b.Precomputed(name, joined);
    };
    return b.Emit(
        "part", OpCode::kSlice,
        {x, list("starts", starts), list("ends", ends), b.ConstantInts("axes", axes), list("steps", steps)});
  }
};

/// A known number of neighbours from a computed start on: how many they are must not depend on it.
ValueId GatherFrom(TfliteBuilder& b, ValueId x, int64_t axis, ValueId start, int64_t count) {
  b.CheckRange("size", count, 0);
  ValueId indices = start;
  if (count != 1) {
    const ValueId limit = b.Scalar("count", DType::kI64, static_cast<double>(count));
    indices = EmitAdd(b, "places", start, EmitCount(b, "counted", limit));
  }
  return b.Emit("found", OpCode::kGather, {x, indices}, AxisAttrs{axis});
}

/// A size of -1 is all that remains.
void BuildSlice(TfliteBuilder& b) {
  const ValueId x = b.Moved(0);
  const Integers starts(b, "starts_in", 1);
  const Integers sizes(b, "sizes_in", 2);
  if (starts.count() != sizes.count() || starts.count() != b.RankOf(x))
    b.Invalid("it has {} starts and {} sizes for rank {}", starts.count(), sizes.count(), b.RankOf(x));
  ValueId gathered = x;
  Bounds bounds;
  const ValueId one = b.ConstantInts("step", {1});
  const ValueId rest = b.ConstantInts("rest", {kEnd});
  for (int64_t axis = 0; axis < starts.count(); ++axis) {
    const auto start = starts.At(axis);
    const auto size = sizes.At(axis);
    if (start == 0 && size && (*size == -1 || b.ExtentOf(x, axis) == size)) continue;
    if (!start && size && *size >= 0) {
      gathered = GatherFrom(b, gathered, axis, starts.Part(axis), *size);
      continue;
    }
    ValueId end = rest;
    if (start && size && *size != -1) {
      int64_t sum = 0;
      if (*start < 0 || *size < 0 || __builtin_add_overflow(*start, *size, &sum))
        b.Invalid("along axis {} it begins at {} and has {} elements", axis, *start, *size);
      if (const auto extent = b.ExtentOf(x, axis); extent && sum > *extent)
        b.Invalid("along axis {} it begins at {} and has {} elements, the input {}", axis, *start, *size,
                  *extent);
      end = b.ConstantInts("end", {sum});
    } else if (!size || *size != -1) {
      const ValueId sum = EmitAdd(b, "sum", starts.Part(axis), sizes.Part(axis));
      const ValueId open = b.Emit("open", OpCode::kLess, {sizes.Part(axis), b.ConstantInts("zero", {0})});
      end = b.Emit("end", OpCode::kWhere, {open, rest, sum});
    }
    bounds.Add(axis, starts.Part(axis), end, one);
  }
  b.Output(OpCode::kIdentity, {bounds.Emit(b, gathered)});
}

/// The end, where it is counted from the start of an axis: one that is counted from the axis' end is moved
/// first.
ValueId EndFromStart(TfliteBuilder& b, ValueId x, int64_t axis, ValueId start, std::optional<int64_t> known,
                     ValueId end) {
  if (!known || *known < 0) {
    const ValueId zero = b.ConstantInts("zero", {0});
    const ValueId moved = EmitAdd(b, "start_from_end", start, ExtentsOf(b, x, axis, axis + 1));
    const ValueId inside = b.Emit("start_inside", OpCode::kMax, {moved, zero});
    start = b.Emit("start", OpCode::kWhere,
                   {b.Emit("counts_from_end", OpCode::kLess, {start, zero}), inside, start});
  }
  return EmitAdd(b, "end_from_start", start, end);
}

/// Bits of the masks are counted along the bounds, as in Python's x[...]: an ellipsis stands for as many
/// whole axes as there must be, a new axis takes none of the input's, and a single element's axis goes away.
void BuildStridedSlice(TfliteBuilder& b) {
  const auto options = b.Options<tflite::StridedSliceOptions>();
  const ValueId x = b.Moved(0);
  const int rank = b.RankOf(x);
  const Integers starts(b, "starts_in", 1);
  const Integers ends(b, "ends_in", 2);
  const Integers steps(b, "steps_in", 3);
  const int64_t count = starts.count();
  if (ends.count() != count || steps.count() != count || count > 2 * kMaxRank)
    b.Invalid("it has {} starts, {} ends and {} steps", count, ends.count(), steps.count());
  const auto has = [](int32_t mask, int64_t i) { return (mask >> i & 1) != 0; };
  int64_t stated = 0;  // Axes of the input that bounds are of, the ellipsis aside.
  bool ellipsis = false;
  for (int64_t i = 0; i < count; ++i) {
    if (has(options.ellipsis_mask, i) && !ellipsis) {
      ellipsis = true;
    } else if (!has(options.new_axis_mask, i)) {
      ++stated;
    }
  }
  if (stated > rank) b.Invalid("it has bounds of {} axes, its input has {}", stated, rank);
  ValueId gathered = x;
  Bounds bounds;
  Ints single, added;  // Axes of the input that go away, and of the output that it does not have.
  int64_t axis = 0;
  int64_t output_axis = 0;
  ellipsis = false;
  for (int64_t i = 0; i < count; ++i) {
    if (has(options.ellipsis_mask, i) && !ellipsis) {
      ellipsis = true;
      axis += rank - stated;
      output_axis += rank - stated;
      continue;
    }
    if (has(options.new_axis_mask, i)) {
      if (added.size == kMaxRank) b.Unsupported("adds more than {} axes", kMaxRank);
      added[added.size++] = output_axis++;
      continue;
    }
    const int64_t at = axis++;
    if (has(options.shrink_axis_mask, i)) {
      single[single.size++] = at;
      const std::optional<int64_t> start = has(options.begin_mask, i) ? 0 : starts.At(i);
      if (!start) {
        gathered = GatherFrom(b, gathered, at, starts.Part(i), 1);
        continue;
      }
      const int64_t end = *start == -1 || *start == kEnd ? kEnd : *start + 1;
      bounds.Add(at, b.ConstantInts("first", {*start}), b.ConstantInts("end", {end}),
                 b.ConstantInts("step", {1}));
      continue;
    }
    ++output_axis;
    const auto step = steps.At(i);
    if (!step) b.Unsupported("computes its steps at run time");
    if (*step == 0) b.Invalid("the step along axis {} is 0", at);
    const bool from_begin = has(options.begin_mask, i);
    const bool to_end = has(options.end_mask, i);
    if (from_begin && to_end && *step == 1) continue;
    const std::optional<int64_t> first =
        from_begin ? std::optional<int64_t>(*step > 0 ? 0 : -1) : starts.At(i);
    const ValueId start = first ? b.ConstantInts("first", {*first}) : starts.Part(i);
    ValueId end = to_end ? b.ConstantInts("last", {*step > 0 ? kEnd : -kEnd}) : ends.Part(i);
    if (!to_end && options.offset) end = EndFromStart(b, x, at, start, first, end);
    bounds.Add(at, start, end, steps.Part(i));
  }
  ValueId y = bounds.Emit(b, gathered);
  if (single.size > 0) y = b.Emit("without_single", OpCode::kSqueeze, {y}, AxesAttrs{single});
  if (added.size > 0) return b.Output(OpCode::kUnsqueeze, {y}, AxesAttrs{added});
  b.Output(OpCode::kIdentity, {y});
}

constexpr TfliteOp kRows[] = {
    {Op::SLICE, BuildSlice, OpCode::kSlice},
    {Op::STRIDED_SLICE, BuildStridedSlice, OpCode::kSlice},
};

}  // namespace

std::span<const TfliteOp> TfliteSliceOps() { return kRows; }

}  // namespace skiff
