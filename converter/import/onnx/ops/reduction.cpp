// ONNX rows: reductions and softmax.
#include <limits>

#include "import/onnx/nested.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// axes as an attribute, or as an input since the row's `since` says so.
ReduceAttrs ReduceAttributes(OnnxBuilder& b, bool axes_are_input) {
  ReduceAttrs attrs;
  attrs.keep_dims = b.Flag("keepdims", true);
  if (!axes_are_input) {
    if (const auto axes = b.IntList("axes")) attrs.axes = b.ToInts(*axes, "attribute 'axes'");
    return attrs;
  }
  attrs.noop_when_empty = b.Flag("noop_with_empty_axes");
  if (b.HasInput(1)) attrs.axes = b.ToInts(b.ConstantInts(1, "axes"), "axes");
  return attrs;
}

template <bool kAxesAreInput>
void BuildReduce(OnnxBuilder& b) {
  b.Output(b.op(), {b.Input(0)}, ReduceAttributes(b, kAxesAreInput));
}

ValueId Square(OnnxBuilder& b, ValueId x) { return b.Emit("square", OpCode::kMul, {x, x}, ClampAttrs{}); }

template <bool kAxesAreInput>
void BuildReduceL1(OnnxBuilder& b) {
  b.Output(OpCode::kReduceSum, {b.Emit("abs", OpCode::kAbs, {b.Input(0)})},
           ReduceAttributes(b, kAxesAreInput));
}

template <bool kAxesAreInput>
void BuildReduceL2(OnnxBuilder& b) {
  b.Output(OpCode::kSqrt,
           {b.Emit("sum", OpCode::kReduceSum, {Square(b, b.Input(0))}, ReduceAttributes(b, kAxesAreInput))});
}

template <bool kAxesAreInput>
void BuildReduceSumSquare(OnnxBuilder& b) {
  b.Output(OpCode::kReduceSum, {Square(b, b.Input(0))}, ReduceAttributes(b, kAxesAreInput));
}

template <bool kAxesAreInput>
void BuildReduceLogSum(OnnxBuilder& b) {
  b.Output(OpCode::kLog,
           {b.Emit("sum", OpCode::kReduceSum, {b.Input(0)}, ReduceAttributes(b, kAxesAreInput))});
}

/// log(sum(exp(x - m))) + m with m the largest element, so that exp cannot overflow; m is clamped to finite
/// numbers because inf - inf would be NaN.
template <bool kAxesAreInput>
void BuildReduceLogSumExp(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const ReduceAttrs attrs = ReduceAttributes(b, kAxesAreInput);
  ReduceAttrs kept = attrs;
  kept.keep_dims = true;
  const float limit = std::numeric_limits<float>::max();
  const ClampAttrs finite{-limit, limit};
  const ValueId largest =
      b.Emit("finite_max", OpCode::kClamp, {b.Emit("max", OpCode::kReduceMax, {x}, kept)}, finite);
  const ValueId shifted = b.Emit("shifted", OpCode::kSub, {x, largest}, ClampAttrs{});
  const ValueId sum = b.Emit("sum", OpCode::kReduceSum, {b.Emit("exp", OpCode::kExp, {shifted})}, attrs);
  ValueId offset = largest;
  if (!attrs.keep_dims) {
    offset =
        b.Emit("finite_max_out", OpCode::kClamp, {b.Emit("max_out", OpCode::kReduceMax, {x}, attrs)}, finite);
  }
  b.Output(OpCode::kAdd, {b.Emit("log", OpCode::kLog, {sum}), offset}, ClampAttrs{});
}

/// All axes behind the channels.
ReduceAttrs SpatialAxes(OnnxBuilder& b, ValueId x) {
  ReduceAttrs attrs;
  for (int axis = 2; axis < b.RankOf(x); ++axis) attrs.axes[attrs.axes.size++] = axis;
  attrs.noop_when_empty = true;
  return attrs;
}

void BuildGlobalPool(OnnxBuilder& b) { b.Output(b.op(), {b.Input(0)}, SpatialAxes(b, b.Input(0))); }

void BuildSoftmax(OnnxBuilder& b) { b.Output(b.op(), {b.Input(0)}, AxisAttrs{b.Int("axis", -1)}); }

/// Before opset 13: over all axes from `axis` on, as if they were one.
void BuildSoftmaxFlattened(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const int64_t axis = b.Int("axis", 1);
  const bool is_last = axis >= 0 && axis < kMaxRank && b.HasRank(x, static_cast<int>(axis) + 1);
  if (axis == -1 || is_last) return b.Output(b.op(), {x}, AxisAttrs{axis});
  const ValueId flat = b.Emit("flat", OpCode::kFlatten, {x}, AxisAttrs{axis});
  const ValueId soft = b.Emit("soft", b.op(), {flat}, AxisAttrs{1});
  b.Output(OpCode::kReshape, {soft, b.Emit("shape", OpCode::kShape, {x}, ShapeAttrs{})},
           ReshapeAttrs{.allow_zero = true});
}

constexpr OnnxOp kRows[] = {
    {"ReduceSum", kOldest, 12, BuildReduce<false>, OpCode::kReduceSum},
    {"ReduceSum", 13, kNewest, BuildReduce<true>, OpCode::kReduceSum},
    {"ReduceMean", kOldest, 17, BuildReduce<false>, OpCode::kReduceMean},
    {"ReduceMean", 18, kNewest, BuildReduce<true>, OpCode::kReduceMean},
    {"ReduceMax", kOldest, 17, BuildReduce<false>, OpCode::kReduceMax},
    {"ReduceMax", 18, kNewest, BuildReduce<true>, OpCode::kReduceMax},
    {"ReduceMin", kOldest, 17, BuildReduce<false>, OpCode::kReduceMin},
    {"ReduceMin", 18, kNewest, BuildReduce<true>, OpCode::kReduceMin},
    {"ReduceProd", kOldest, 17, BuildReduce<false>, OpCode::kReduceProd},
    {"ReduceProd", 18, kNewest, BuildReduce<true>, OpCode::kReduceProd},
    {"ReduceL1", kOldest, 17, BuildReduceL1<false>},
    {"ReduceL1", 18, kNewest, BuildReduceL1<true>},
    {"ReduceL2", kOldest, 17, BuildInSingle<BuildReduceL2<false>>},
    {"ReduceL2", 18, kNewest, BuildInSingle<BuildReduceL2<true>>},
    {"ReduceSumSquare", kOldest, 17, BuildReduceSumSquare<false>},
    {"ReduceSumSquare", 18, kNewest, BuildReduceSumSquare<true>},
    {"ReduceLogSum", kOldest, 17, BuildInSingle<BuildReduceLogSum<false>>},
    {"ReduceLogSum", 18, kNewest, BuildInSingle<BuildReduceLogSum<true>>},
    {"ReduceLogSumExp", kOldest, 17, BuildInSingle<BuildReduceLogSumExp<false>>},
    {"ReduceLogSumExp", 18, kNewest, BuildInSingle<BuildReduceLogSumExp<true>>},
    {"GlobalAveragePool", kOldest, kNewest, BuildGlobalPool, OpCode::kReduceMean},
    {"GlobalMaxPool", kOldest, kNewest, BuildGlobalPool, OpCode::kReduceMax},
    {"Softmax", kOldest, 12, BuildSoftmaxFlattened, OpCode::kSoftmax},
    {"Softmax", 13, kNewest, BuildSoftmax, OpCode::kSoftmax},
    {"LogSoftmax", kOldest, 12, BuildSoftmaxFlattened, OpCode::kLogSoftmax},
    {"LogSoftmax", 13, kNewest, BuildSoftmax, OpCode::kLogSoftmax},
};

}  // namespace

std::span<const OnnxOp> OnnxReductionOps() { return kRows; }

}  // namespace skiff
