// TensorFlow Lite rows: functions of one operand, and choices.
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

void BuildRsqrt(TfliteBuilder& b) {
  const ValueId root = b.Emit("root", OpCode::kSqrt, {b.Real("real", b.Input(0))});
  b.OutputValue(b.Emit("inverse", OpCode::kReciprocal, {root}));
}

void BuildClamp(TfliteBuilder& b, float min, float max) {
  const ValueId x = b.Operand(0);
  b.Output(OpCode::kClamp, {x}, ClampAttrs{min, max});
}
void BuildRelu(TfliteBuilder& b) { BuildClamp(b, 0, kInfinity); }
void BuildRelu6(TfliteBuilder& b) { BuildClamp(b, 0, 6); }
void BuildReluN1To1(TfliteBuilder& b) { BuildClamp(b, -1, 1); }
void BuildRelu0To1(TfliteBuilder& b) { BuildClamp(b, 0, 1); }

void BuildLeakyRelu(TfliteBuilder& b) {
  b.Output(OpCode::kLeakyRelu, {b.Operand(0)}, AlphaAttrs{b.Options<tflite::LeakyReluOptions>().alpha});
}
void BuildElu(TfliteBuilder& b) { b.Output(OpCode::kElu, {b.Operand(0)}, AlphaAttrs{1.0f}); }
void BuildGelu(TfliteBuilder& b) {
  const bool tanh = b.Options<tflite::GeluOptions>().approximate;
  b.Output(OpCode::kGelu, {b.Operand(0)}, GeluAttrs{tanh ? GeluKind::kTanh : GeluKind::kErf});
}

/// Between plain numbers; a quantised tensor's are its integers.
void BuildCast(TfliteBuilder& b) {
  const ValueId x = b.Codes("codes", b.Input(0));
  const CastAttrs attrs{static_cast<int64_t>(b.DTypeOfOutput())};
  if (!b.OutputIsQuantized()) return b.Output(OpCode::kCast, {x}, attrs);
  b.Output(OpCode::kFromCodes, {b.Emit("cast", OpCode::kCast, {x}, attrs)});
}

/// The condition is either of the operands' shape or, for SELECT, a vector along their first axis.
void BuildSelect(TfliteBuilder& b) {
  ValueId condition = b.Input(0);
  const ValueId x = b.Moved(1);
  if (b.HasRank(condition, 1) && b.RankOf(x) > 1) {
    Ints axes;
    for (int axis = 1; axis < b.RankOf(x); ++axis) axes[axes.size++] = axis;
    condition = EmitUnsqueeze(b, "condition", condition, axes);
  }
  b.Output(OpCode::kWhere, {condition, x, b.Moved(2)});
}
void BuildSelectV2(TfliteBuilder& b) { b.Output(OpCode::kWhere, {b.Input(0), b.Moved(1), b.Moved(2)}); }

void BuildZerosLike(TfliteBuilder& b) {
  const ValueId x = b.Input(0);
  const ValueId shape = EmitExtents(b, "shape", x, 0, b.RankOf(x));
  FillAttrs attrs;
  attrs.dtype = static_cast<int64_t>(b.OutputIsQuantized() ? DType::kF32 : b.DTypeOfOutput());
  b.OutputValue(b.Emit("zeros", OpCode::kFill, {shape}, attrs));
}

constexpr TfliteOp kRows[] = {
    {Op::ABS, BuildDirectTflite, OpCode::kAbs},
    {Op::NEG, BuildDirectTflite, OpCode::kNeg},
    {Op::EXP, BuildDirectTflite, OpCode::kExp},
    {Op::LOG, BuildDirectTflite, OpCode::kLog},
    {Op::SQRT, BuildDirectTflite, OpCode::kSqrt},
    {Op::RSQRT, BuildRsqrt},
    {Op::SIN, BuildDirectTflite, OpCode::kSin},
    {Op::COS, BuildDirectTflite, OpCode::kCos},
    {Op::FLOOR, BuildDirectTflite, OpCode::kFloor},
    {Op::CEIL, BuildDirectTflite, OpCode::kCeil},
    {Op::ROUND, BuildDirectTflite, OpCode::kRound},
    {Op::SIGN, BuildDirectTflite, OpCode::kSign},
    {Op::LOGISTIC, BuildDirectTflite, OpCode::kSigmoid},
    {Op::TANH, BuildDirectTflite, OpCode::kTanh},
    {Op::HARD_SWISH, BuildDirectTflite, OpCode::kHardSwish},
    {Op::LOGICAL_NOT, BuildLogicalTflite, OpCode::kNot},
    {Op::RELU, BuildRelu, OpCode::kClamp},
    {Op::RELU6, BuildRelu6, OpCode::kClamp},
    {Op::RELU_N1_TO_1, BuildReluN1To1, OpCode::kClamp},
    {Op::RELU_0_TO_1, BuildRelu0To1, OpCode::kClamp},
    {Op::LEAKY_RELU, BuildLeakyRelu, OpCode::kLeakyRelu},
    {Op::ELU, BuildElu, OpCode::kElu},
    {Op::GELU, BuildGelu, OpCode::kGelu},
    {Op::CAST, BuildCast, OpCode::kCast},
    {Op::SELECT, BuildSelect, OpCode::kWhere},
    {Op::SELECT_V2, BuildSelectV2, OpCode::kWhere},
    {Op::ZEROS_LIKE, BuildZerosLike},
};

}  // namespace

std::span<const TfliteOp> TfliteElementwiseOps() { return kRows; }

}  // namespace skiff
