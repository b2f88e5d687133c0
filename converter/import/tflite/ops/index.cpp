// TensorFlow Lite rows: elements looked up, and written, by index.
#include <algorithm>
#include <limits>

#include "import/tflite/ops.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// The first `batch_dims` axes of both are one: GatherND after the axis has moved behind them.
void BuildGatherInBatch(TfliteBuilder& b, ValueId x, ValueId indices, int axis, int batch) {
  const int rank = b.RankOf(x);
  Ints forward;
  for (int i = 0; i < batch; ++i) forward[forward.size++] = i;
  forward[forward.size++] = axis;
  for (int i = batch; i < rank; ++i) {
    if (i != axis) forward[forward.size++] = i;
  }
  const ValueId moved = EmitTranspose(b, "axis_in_front", x, forward);
  const ValueId places = EmitUnsqueeze(b, "places", indices, {b.RankOf(indices)});
  const ValueId found = b.Emit("found", OpCode::kGatherND, {moved, places}, GatherNDAttrs{batch});
  // [batch, indices, axes before, axes behind] to [batch, axes before, indices, axes behind].
  const int looked_up = b.RankOf(indices) - batch;
  const int before = axis - batch;
  Ints back;
  for (int i = 0; i < batch; ++i) back[back.size++] = i;
  for (int i = 0; i < before; ++i) back[back.size++] = batch + looked_up + i;
  for (int i = 0; i < looked_up; ++i) back[back.size++] = batch + i;
  for (int i = batch + looked_up + before; i < rank - 1 + looked_up; ++i) back[back.size++] = i;
  b.Output(OpCode::kIdentity, {EmitTranspose(b, "in_place", found, back)});
}

void BuildGather(TfliteBuilder& b) {
  const auto options = b.Options<tflite::GatherOptions>();
  const ValueId x = b.Moved(0);
  const ValueId indices = b.Integers("indices", b.Input(1));
  const int rank = b.RankOf(x);
  const int axis = AxisOf(b, "axis", options.axis, rank);
  if (options.batch_dims == 0) return b.Output(OpCode::kGather, {x, indices}, AxisAttrs{axis});
  const int batch = options.batch_dims < 0 ? options.batch_dims + b.RankOf(indices) : options.batch_dims;
  if (batch < 0 || batch > axis || batch > b.RankOf(indices))
    b.Invalid("batch_dims is {} for axis {}", options.batch_dims, axis);
  if (rank + b.RankOf(indices) - batch > kMaxRank)
    b.Unsupported("makes an intermediate result of more than {} axes", kMaxRank);
  BuildGatherInBatch(b, x, indices, axis, batch);
}

void BuildGatherNd(TfliteBuilder& b) {
  b.Output(OpCode::kGatherND, {b.Moved(0), b.Integers("indices", b.Input(1))}, GatherNDAttrs{});
}

/// Rows of input 1.
void BuildEmbeddingLookup(TfliteBuilder& b) {
  b.Output(OpCode::kGather, {b.Moved(1), b.Integers("indices", b.Input(0))}, AxisAttrs{0});
}

void BuildOneHot(TfliteBuilder& b) {
  ValueId indices = b.Integers("indices", b.Input(0));
  const int rank = b.RankOf(indices);
  const int64_t stated = b.Options<tflite::OneHotOptions>().axis;
  const int axis = stated == -1 ? rank : AxisOf(b, "axis", stated, rank + 1);
  indices = EmitUnsqueeze(b, "indices_apart", indices, {axis});
  const ValueId depth = b.IntegerScalar("depth", b.Input(1));
  Ints behind;
  for (int i = axis + 1; i <= rank; ++i) behind[behind.size++] = i - axis;
  const ValueId classes = EmitUnsqueeze(b, "classes", EmitCount(b, "count", depth), behind);
  const ValueId hot = b.Emit("hot", OpCode::kEqual, {indices, classes});
  b.Output(OpCode::kWhere, {hot, b.Moved(2), b.Moved(3)});
}

ValueId Filled(TfliteBuilder& b, const char* suffix, ValueId extents, DType dtype, double number) {
  return b.Emit(suffix, OpCode::kExpand, {b.Scalar("filling", dtype, number), extents});
}

/// Updates that meet are added.
void BuildScatterNd(TfliteBuilder& b) {
  const ValueId updates = b.Real("real_updates", b.Input(1));
  const ValueId extents = b.Integers("extents", b.Input(2));
  ScatterAttrs attrs;
  attrs.reduction = ScatterReduction::kAdd;
  const bool truths = b.DTypeOf(updates) == DType::kBool;
  if (truths) attrs.reduction = ScatterReduction::kNone;
  const ValueId zeros = Filled(b, "zeros", extents, b.DTypeOf(updates), 0);
  b.OutputValue(
      b.Emit("scattered", OpCode::kScatterND, {zeros, b.Integers("indices", b.Input(0)), updates}, attrs));
}

/// These axes, then the others or, where `behind`, the others first. Throws where they are no axes.
Ints Reordered(const TfliteBuilder& b, const std::vector<int64_t>& axes, int rank, bool behind) {
  uint32_t chosen = 0;
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= rank || (chosen >> axis & 1u) != 0)
      b.Invalid("it names axis {} of {} twice, or outside of them", axis, rank);
    chosen |= 1u << axis;
  }
  Ints order;
  if (!behind) order = b.ToInts(axes, "axes");
  for (int axis = 0; axis < rank; ++axis) {
    if ((chosen >> axis & 1u) == 0) order[order.size++] = axis;
  }
  for (size_t i = 0; behind && i < axes.size(); ++i) order[order.size++] = axes[i];
  return order;
}

/// Whether all rows of indices are known to lie in x.
bool AreInside(const TfliteBuilder& b, ValueId indices, ValueId x, int64_t count) {
  const std::optional<TensorData> known = b.KnownValueOf(indices);
  const auto extents = b.ExtentsOf(x, 0, count);
  if (!known || !extents) return false;
  const std::vector<int64_t> numbers = known->ToInts();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= (*extents)[i % extents->size()]) return false;
  }
  return true;
}

/// Updates outside of x are left out: they go where x has one place more along each axis, for the time.
ValueId ScatterInside(TfliteBuilder& b, ValueId x, ValueId indices, ValueId updates, int64_t count,
                      const ScatterAttrs& attrs) {
  if (AreInside(b, indices, x, count))
    return b.Emit("scattered", OpCode::kScatterND, {x, indices, updates}, attrs);
  const ValueId limits = ExtentsOf(b, x, 0, count);
  const ValueId below = b.Emit("below", OpCode::kLess, {indices, b.Scalar("zero", DType::kI64, 0)});
  const ValueId beyond = b.Emit("beyond", OpCode::kGreaterOrEqual, {indices, limits});
  const ValueId out = b.Emit("out", OpCode::kOr, {below, beyond});
  const ValueId any = b.Emit("any_out", OpCode::kReduceMax, {out}, ReduceAttrs{{-1}});
  const ValueId places = b.Emit("places", OpCode::kWhere, {any, limits, indices});
  const auto grow = [&](const char* suffix, ValueId value, int64_t by) {
    std::vector<int64_t> pads(2 * static_cast<size_t>(b.RankOf(x)), 0);
    std::fill_n(pads.begin() + b.RankOf(x), count, by);
    return b.Emit(suffix, OpCode::kPad, {value, b.ConstantInts("pads", pads)}, PadAttrs{});
  };
  const ValueId scattered =
      b.Emit("scattered_wide", OpCode::kScatterND, {grow("wide", x, 1), places, updates}, attrs);
  return grow("scattered", scattered, -1);
}

std::optional<ScatterReduction> ReductionOf(std::optional<OpCode> combiner) {
  switch (combiner.value_or(OpCode::kInvalid)) {
    case OpCode::kIdentity:
      return ScatterReduction::kNone;
    case OpCode::kAdd:
      return ScatterReduction::kAdd;
    case OpCode::kMul:
      return ScatterReduction::kMul;
    case OpCode::kMin:
    case OpCode::kAnd:
      return ScatterReduction::kMin;
    case OpCode::kMax:
    case OpCode::kOr:
      return ScatterReduction::kMax;
    default:
      return {};
  }
}

/// Those of slices that are whole along each axis which no index is of: ScatterND once these axes are the
/// last ones, and those of the indices first.
void BuildStablehloScatter(TfliteBuilder& b) {
  const auto options = b.StablehloOptions<tflite::StablehloScatterOptions>();
  if (b.input_count() != 3) b.Unsupported("updates {} tensors at once", b.input_count() / 2);
  ScatterAttrs attrs;
  const auto reduction = ReductionOf(b.source().combiner(options.update_subgraph));
  if (!reduction) b.Unsupported("updates by another subgraph than a sum, product, minimum or maximum");
  attrs.reduction = *reduction;
  const ValueId x = b.Real("real", b.Input(0));
  ValueId indices = b.Integers("indices", b.Input(1));
  const ValueId updates = b.Real("real_updates", b.Input(2));
  if (options.index_vector_dim == b.RankOf(indices))
    indices = EmitUnsqueeze(b, "index_rows", indices, {options.index_vector_dim});
  if (options.index_vector_dim != b.RankOf(indices) - 1)
    b.Unsupported("has its indices along axis {}, which is not the last one", options.index_vector_dim);
  const std::vector<int64_t>& axes = options.scatter_dims_to_operand_dims;
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (axes.empty() || sorted != options.inserted_window_dims)
    b.Unsupported("writes several places along an axis of its indices; write one place for each index");
  const Ints order = Reordered(b, axes, b.RankOf(x), /*behind=*/false);
  const Ints of_updates = Reordered(b, options.update_window_dims, b.RankOf(updates), /*behind=*/true);
  const auto count = static_cast<int64_t>(axes.size());
  if (b.ExtentOf(indices, options.index_vector_dim).value_or(count) != count)
    b.Invalid("it has indices of {} axes, but names {}", *b.ExtentOf(indices, options.index_vector_dim),
              count);
  const ValueId scattered =
      ScatterInside(b, EmitTranspose(b, "axes_in_front", x, order), indices,
                    EmitTranspose(b, "slices_behind", updates, of_updates), count, attrs);
  Ints back = order;
  for (int64_t i = 0; i < order.size; ++i) back[order[i]] = i;
  b.OutputValue(EmitTranspose(b, "in_order", scattered, back));
}

/// Indices are a scalar, a vector, or one row for each value.
void BuildSparseToDense(TfliteBuilder& b) {
  ValueId indices = b.Integers("indices", b.Input(0));
  const ValueId extents = b.Integers("extents", b.Input(1));
  ValueId values = b.Real("real_values", b.Input(2));
  const ValueId filling = b.Real("real_default", b.Input(3));
  if (b.HasRank(indices, 0)) indices = EmitUnsqueeze(b, "index_list", indices, {0});
  if (b.HasRank(indices, 1)) indices = EmitUnsqueeze(b, "index_rows", indices, {1});
  values = b.Emit("values", OpCode::kExpand, {values, ExtentsOf(b, indices, 0, 1)});
  const ValueId dense = b.Emit("dense", OpCode::kExpand, {filling, extents});
  b.OutputValue(b.Emit("scattered", OpCode::kScatterND, {dense, indices, values}, ScatterAttrs{}));
}

/// What a segment without rows becomes. Integers saturate at their ends.
double FirstOf(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::kMul:
      return 1;
    case ScatterReduction::kMin:
      return static_cast<double>(std::numeric_limits<float>::max());
    case ScatterReduction::kMax:
      return static_cast<double>(std::numeric_limits<float>::lowest());
    default:
      return 0;
  }
}

/// Rows of one segment are reduced to one; those of a negative segment are left out: they become one in front
/// of the others.
void EmitSegments(TfliteBuilder& b, ValueId data, ValueId ids, int64_t count, ScatterReduction reduction) {
  const int id_rank = b.RankOf(ids);
  const int rank = b.RankOf(data);
  if (id_rank < 1 || id_rank > rank) b.Invalid("its segments have rank {}, its data {}", id_rank, rank);
  b.CheckRange("number of segments", count, 0);
  const ValueId kept = b.Emit("dropped_or_kept", OpCode::kMax, {ids, b.Scalar("dropped", DType::kI64, -1)});
  const ValueId rows = EmitAdd(b, "rows", kept, b.Scalar("one", DType::kI64, 1));
  const ValueId indices = EmitUnsqueeze(b, "indices", rows, {id_rank});
  std::vector<ValueId> extents{b.ConstantInts("segments", {count + 1})};
  if (id_rank < rank) extents.push_back(ExtentsOf(b, data, id_rank, rank));
  const ValueId shape =
      extents.size() == 1 ? extents[0] : b.Emit("shape", OpCode::kConcat, extents, AxisAttrs{0});
  const ValueId first = Filled(b, "first", shape, b.DTypeOf(data), FirstOf(reduction));
  ScatterAttrs attrs;
  attrs.reduction = reduction;
  const ValueId reduced = b.Emit("reduced", OpCode::kScatterND, {first, indices, data}, attrs);
  b.OutputValue(EmitSlice(b, "kept", reduced, 0, 1, count + 1));
}

template <ScatterReduction kReduction>
void BuildUnsortedSegment(TfliteBuilder& b) {
  EmitSegments(b, b.Real("real", b.Input(0)), b.Integers("segments_in", b.Input(1)),
               b.ConstantInt(2, "number of segments"), kReduction);
}

void BuildSegmentSum(TfliteBuilder& b) {
  const std::vector<int64_t> ids = b.ConstantInts(1, "segments");
  const int64_t last = ids.empty() ? -1 : ids.back();
  b.CheckRange("last segment", last, -1);
  EmitSegments(b, b.Real("real", b.Input(0)), b.Integers("segments_in", b.Input(1)), last + 1,
               ScatterReduction::kAdd);
}

/// How many boundaries a number is not below: of NaN, all.
void BuildBucketize(TfliteBuilder& b) {
  const std::vector<float> boundaries = b.Options<tflite::BucketizeOptions>().boundaries;
  const ValueId real = b.Real("real", b.Input(0));
  const ValueId x = EmitUnsqueeze(b, "numbers", b.CastTo("f32", real, DType::kF32), {b.RankOf(real)});
  const ValueId limits = b.Constant("boundaries", TensorData::OfFloats(boundaries));
  const ValueId passed = b.Emit("passed", OpCode::kNot, {b.Emit("below", OpCode::kLess, {x, limits})});
  ReduceAttrs last;
  last.axes = {-1};
  last.keep_dims = false;
  b.OutputValue(b.Emit("bucket", OpCode::kReduceSum, {b.CastTo("ones", passed, DType::kI32)}, last));
}

/// The update's elements are written from the start on, which is moved so that all of them lie inside.
void BuildDynamicUpdateSlice(TfliteBuilder& b) {
  const ValueId x = b.Moved(0);
  const ValueId update = b.Moved(1);
  const ValueId starts = b.Integers("starts", b.Input(2));
  const int rank = b.RankOf(x);
  std::vector<ValueId> places;
  for (int axis = 0; axis < rank; ++axis) {
    const auto name = [&](const char* what) { return fmt::format("{}_{}", what, axis); };
    const std::optional<int64_t> given = b.ExtentOf(update, axis);
    const std::optional<int64_t> there = b.ExtentOf(x, axis);
    if (given && there && *given > *there)
      b.Invalid("its update is {} long along axis {}, what it updates {}", *given, axis, *there);
    const ValueId extent = ExtentsOf(b, update, axis, axis + 1);
    const ValueId room = EmitSub(b, name("room").c_str(), ExtentsOf(b, x, axis, axis + 1), extent);
    const ValueId stated = EmitSlice(b, name("stated").c_str(), starts, 0, axis, axis + 1);
    const ValueId zero = b.ConstantInts("zero", {0});
    const ValueId low = b.Emit(name("low").c_str(), OpCode::kMax, {stated, zero});
    ValueId start = b.Emit(name("start").c_str(), OpCode::kMin, {low, room});
    if (!given || !there) {  // An update that does not fit has a start that no kernel takes.
      const ValueId too_long = b.Emit(name("too_long").c_str(), OpCode::kLess, {room, zero});
      start = b.Emit(name("inside").c_str(), OpCode::kWhere,
                     {too_long, b.ConstantInts("outside", {int64_t{1} << 62}), start});
    }
    const ValueId count =
        EmitCount(b, name("count").c_str(), EmitExtent(b, name("extent").c_str(), update, axis));
    Ints behind;
    for (int i = axis + 1; i <= rank; ++i) behind[behind.size++] = i - axis;
    Ints in_front;
    for (int i = 0; i < axis; ++i) in_front[in_front.size++] = i;
    const ValueId along = EmitUnsqueeze(
        b, name("along").c_str(),
        EmitUnsqueeze(b, name("rows").c_str(), EmitAdd(b, name("moved").c_str(), count, start), behind),
        in_front);
    const ValueId shape = b.Emit(name("shape").c_str(), OpCode::kConcat,
                                 {ExtentsOf(b, update, 0, rank), b.ConstantInts("one", {1})}, AxisAttrs{0});
    places.push_back(b.Emit(name("places").c_str(), OpCode::kExpand, {along, shape}));
  }
  if (rank == 0) return b.Output(OpCode::kIdentity, {update});
  const ValueId indices = b.Emit("indices", OpCode::kConcat, places, AxisAttrs{rank});
  b.OutputValue(b.Emit("updated", OpCode::kScatterND,
                       {b.Real("real", x), indices, b.Real("real_update", update)}, ScatterAttrs{}));
}

constexpr TfliteOp kRows[] = {
    {Op::GATHER, BuildGather, OpCode::kGather},
    {Op::GATHER_ND, BuildGatherNd, OpCode::kGatherND},
    {Op::EMBEDDING_LOOKUP, BuildEmbeddingLookup, OpCode::kGather},
    {Op::ONE_HOT, BuildOneHot},
    {Op::SCATTER_ND, BuildScatterNd},
    {Op::STABLEHLO_SCATTER, BuildStablehloScatter, OpCode::kScatterND},
    {Op::SPARSE_TO_DENSE, BuildSparseToDense},
    {Op::SEGMENT_SUM, BuildSegmentSum},
    {Op::UNSORTED_SEGMENT_SUM, BuildUnsortedSegment<ScatterReduction::kAdd>},
    {Op::UNSORTED_SEGMENT_PROD, BuildUnsortedSegment<ScatterReduction::kMul>},
    {Op::UNSORTED_SEGMENT_MIN, BuildUnsortedSegment<ScatterReduction::kMin>},
    {Op::UNSORTED_SEGMENT_MAX, BuildUnsortedSegment<ScatterReduction::kMax>},
    {Op::BUCKETIZE, BuildBucketize},
    {Op::DYNAMIC_UPDATE_SLICE, BuildDynamicUpdateSlice},
};

}  // namespace

std::span<const TfliteOp> TfliteIndexOps() { return kRows; }

}  // namespace skiff
