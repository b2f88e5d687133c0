// TensorFlow Lite rows: reductions, the largest elements, and running sums.
#include <algorithm>

#include "import/tflite/ops.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// Input 1 lists the axes; none: nothing is reduced.
ReduceAttrs AxesOf(TfliteBuilder& b) {
  ReduceAttrs attrs;
  attrs.keep_dims = b.Options<tflite::ReducerOptions>().keep_dims;
  attrs.noop_when_empty = true;
  const int rank = b.RankOf(b.Input(0));
  if (rank == 0) return attrs;  // LiteRT does not look at the axes of a scalar.
  for (const int64_t stated : b.ConstantInts(1, "axes")) {
    const int64_t axis = AxisOf(b, "axis", stated, rank);
    if (std::find(attrs.axes.begin(), attrs.axes.end(), axis) != attrs.axes.end()) continue;
    attrs.axes[attrs.axes.size++] = axis;
  }
  return attrs;
}

void BuildReduce(TfliteBuilder& b) { b.Output(b.op(), {b.Operand(0)}, AxesOf(b)); }

/// Of truths, as the largest or smallest number of 0 and 1. Where there are none, it is an end of the
/// integers, of which the lowest is no truth.
void BuildReduceTruths(TfliteBuilder& b) {
  const ValueId numbers = b.CastTo("numbers", b.Input(0), DType::kI32);
  const ValueId reduced = b.Emit("reduced", b.op(), {numbers}, AxesOf(b));
  b.Output(OpCode::kGreater, {reduced, b.Scalar("zero", DType::kI32, 0)});
}

void BuildArg(TfliteBuilder& b) {
  ArgAttrs attrs;
  attrs.axis = AxisOf(b, "axis", b.ConstantInt(1, "axis"), b.RankOf(b.Input(0)));
  attrs.keep_dims = false;
  const ValueId x = b.Real("real", b.Input(0));
  b.OutputValue(b.Emit("index", b.op(), {x}, attrs));
}

/// The values and their indices along the last axis.
void BuildTopK(TfliteBuilder& b) {
  const ValueId k = b.Integers("k", b.Input(1));
  const ValueId count =
      b.HasRank(k, 1) ? k
                      : b.Emit("count", OpCode::kReshape, {k, b.ConstantInts("one", {1})}, ReshapeAttrs{});
  const ValueId x = b.Codes("codes", b.Input(0));
  const std::vector<ValueId> top = b.EmitAll({"values", "indices"}, OpCode::kTopK, {x, count}, TopKAttrs{});
  b.OutputCodes(top[0]);
  if (b.output_count() > 1) b.OutputValue(top[1], 1);
}

void BuildCumsum(TfliteBuilder& b) {
  const auto options = b.Options<tflite::CumsumOptions>();
  const ValueId axis = b.IntegerScalar("axis", b.Input(1));
  b.Output(OpCode::kCumSum, {b.Operand(0), axis}, CumSumAttrs{options.exclusive, options.reverse});
}

constexpr TfliteOp kRows[] = {
    {Op::MEAN, BuildReduce, OpCode::kReduceMean},
    {Op::SUM, BuildReduce, OpCode::kReduceSum},
    {Op::REDUCE_PROD, BuildReduce, OpCode::kReduceProd},
    {Op::REDUCE_MAX, BuildReduce, OpCode::kReduceMax},
    {Op::REDUCE_MIN, BuildReduce, OpCode::kReduceMin},
    {Op::REDUCE_ANY, BuildReduceTruths, OpCode::kReduceMax},
    {Op::REDUCE_ALL, BuildReduceTruths, OpCode::kReduceMin},
    {Op::ARG_MAX, BuildArg, OpCode::kArgMax},
    {Op::ARG_MIN, BuildArg, OpCode::kArgMin},
    {Op::TOPK_V2, BuildTopK, OpCode::kTopK},
    {Op::CUMSUM, BuildCumsum, OpCode::kCumSum},
};

}  // namespace

std::span<const TfliteOp> TfliteReductionOps() { return kRows; }

}  // namespace skiff
