// TensorFlow Lite rows: operators of which only the run can tell how much they return.
#include <algorithm>
#include <cmath>
#include <limits>

#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// The first `count` elements along the first axis.
ValueId First(TfliteBuilder& b, const std::string& suffix, ValueId all, ValueId count) {
  return b.Emit(suffix.c_str(), OpCode::kSlice,
                {all, b.ConstantInts((suffix + "_begin").c_str(), {0}), count,
                 b.ConstantInts((suffix + "_axis").c_str(), {0})});
}

/// Where the input is not 0: [count, rank].
void BuildWhere(TfliteBuilder& b) {
  const ValueId x = b.Codes("codes", b.Input(0));
  ReduceAttrs all;
  all.keep_dims = false;
  const ValueId ones = b.CastTo("ones", b.CastTo("present", x, DType::kBool), DType::kI64);
  const ValueId count = b.Emit("count", OpCode::kReduceSum, {ones}, all);
  b.OutputValue(EmitTranspose(b, "tuples", b.Emit("places", OpCode::kNonZero, {x, count}), {1, 0}));
}

/// The elements in the order of their first occurrence, and which of them each one is.
void BuildUnique(TfliteBuilder& b) {
  UniqueAttrs attrs;
  attrs.sorted = false;
  const std::vector<ValueId> found = b.EmitAll({"all", "first", "inverse", "counts", "count"},
                                               OpCode::kUnique, {b.Codes("codes", b.Input(0))}, attrs);
  b.OutputCodes(First(b, "elements", found[0], found[4]));
  b.OutputValue(found[2], 1);
}

/// Inputs: boxes [boxes, 4], scores [boxes], how many to take, the least overlap of what is dropped, the
/// score that is too low; of version 5 also how much scores are lowered instead. The result has room for all,
/// 0 behind the last, and says how many there are.
void BuildNonMaxSuppression(TfliteBuilder& b) {
  const bool soft = b.input_count() > 5;
  if (soft) {
    const TensorData* sigma = b.ConstantOf(b.Input(5));
    if (sigma == nullptr || sigma->elements() != 1 || sigma->ToDoubles()[0] != 0)
      b.Unsupported("lowers the scores of boxes that overlap (soft_nms_sigma), which Skiff does not");
  }
  const int64_t most = b.ConstantInt(2, "how many boxes are taken");
  const TensorData* overlap = b.ConstantOf(b.Input(3));
  if (overlap == nullptr || overlap->dtype() != DType::kF32 || overlap->elements() != 1)
    b.Unsupported("computes the overlap of what it drops while it runs; only a constant is taken");
  // A box is dropped where it overlaps another one as much, not more: at 0 each one but the best.
  const float dropped = *overlap->as<float>();
  // None overlaps by more than 1.
  const float below = std::nextafter(dropped, -std::numeric_limits<float>::infinity());
  const float kept = dropped > 0 ? std::min(below, 1.0f) : 0.0f;
  const int64_t taken = dropped > 0 ? most : std::min<int64_t>(most, 1);
  const ValueId scores = b.Real("scores", b.Input(1));
  const std::vector<ValueId> found = b.EmitAll(
      {"all", "count", "order"}, OpCode::kNonMaxSuppression,
      {EmitUnsqueeze(b, "boxes", b.Real("real_boxes", b.Input(0)), {0}),
       EmitUnsqueeze(b, "of_class", scores, {0, 1}), b.ConstantInts("most", {taken}),
       b.Scalar("most_overlap", DType::kF32, static_cast<double>(kept)), b.Real("least", b.Input(4))},
      SuppressionAttrs{});
  const ValueId columns = EmitSlice(b, "columns", found[0], 1, 2, 3);
  const ValueId places = EmitReshape(b, "places", columns, {-1});
  const int64_t boxes = b.ExtentOf(b.Input(1), 0).value_or(-1);
  if (boxes < 0) b.Unsupported("is over an open number of boxes");
  const ValueId padded = PadAxis(b, "padded", places, 0, 0, most - std::min(boxes, taken));
  b.OutputValue(padded);
  if (soft) {
    const ValueId positions =
        EmitCount(b, "positions", b.Scalar("room", DType::kI64, static_cast<double>(most)));
    const ValueId there = b.Emit("there", OpCode::kLess, {positions, found[1]});
    // Behind the last is box 0, which need not be there.
    const ValueId some = boxes > 0 ? scores : PadAxis(b, "some_score", scores, 0, 0, 1);
    const ValueId values = b.Emit("values", OpCode::kGather, {some, padded}, AxisAttrs{0});
    b.OutputValue(b.Emit("scores_there", OpCode::kWhere, {there, values, b.Scalar("none", DType::kF32, 0)}),
                  1);
  }
  b.OutputValue(EmitReshape(b, "valid", found[1], {}), soft ? 2 : 1);
}

constexpr TfliteOp kRows[] = {
    {Op::WHERE, BuildWhere},
    {Op::UNIQUE, BuildUnique},
    {Op::NON_MAX_SUPPRESSION_V4, BuildNonMaxSuppression},
    {Op::NON_MAX_SUPPRESSION_V5, BuildNonMaxSuppression},
};

}  // namespace

std::span<const TfliteOp> TfliteCountedOps() { return kRows; }

}  // namespace skiff
