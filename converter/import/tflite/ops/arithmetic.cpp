// TensorFlow Lite rows: functions of two operands with broadcasting.
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

template <class Table>
void BuildActivated(TfliteBuilder& b) {
  b.OutputActivated(b.op(), {b.Operand(0), b.Operand(1)}, ClampAttrs{}, b.Options<Table>().activation);
}

void BuildSquare(TfliteBuilder& b) {
  const ValueId x = b.Operand(0);
  b.Output(OpCode::kMul, {x, x}, ClampAttrs{});
}

void BuildSquaredDifference(TfliteBuilder& b) {
  const ValueId difference =
      EmitSub(b, "difference", b.Real("left", b.Input(0)), b.Real("right", b.Input(1)));
  b.OutputValue(EmitMul(b, "square", difference, difference));
}

void BuildAddN(TfliteBuilder& b) {
  ValueId sum = b.Real("real_0", b.Input(0));
  for (size_t i = 1; i < b.input_count(); ++i) {
    const ValueId next = b.Real(fmt::format("real_{}", i).c_str(), b.Input(i));
    sum = EmitAdd(b, fmt::format("sum_{}", i).c_str(), sum, next);
  }
  b.OutputValue(sum);
}

/// Of integers, the truncated quotient, less 1 where something remains and the signs differ: no step of it
/// leaves the type. Those of quantised tensors are taken as they are, as LiteRT does.
void BuildFloorDiv(TfliteBuilder& b) {
  const ValueId x = b.Codes("x", b.Input(0));
  const ValueId y = b.Codes("y", b.Input(1));
  if (IsFloat(b.DTypeOf(x)))
    return b.OutputValue(b.Emit("floor", OpCode::kFloor, {EmitDiv(b, "ratio", x, y)}));
  const ValueId zero = b.Scalar("zero", b.DTypeOf(x), 0);
  const auto negative = [&](const char* name, ValueId of) { return b.Emit(name, OpCode::kLess, {of, zero}); };
  const ValueId rest = b.Emit("rest", OpCode::kMod, {x, y}, ModAttrs{});
  const ValueId fits = b.Emit("fits", OpCode::kEqual, {rest, zero});
  const ValueId differ =
      b.Emit("differ", OpCode::kXor, {negative("x_negative", x), negative("y_negative", y)});
  const ValueId above = b.Emit("above", OpCode::kAnd, {differ, b.Emit("remains", OpCode::kNot, {fits})});
  const ValueId truncated = EmitDiv(b, "truncated", x, y);
  b.OutputCodes(EmitSub(b, "floored", truncated, b.CastTo("one_above", above, b.DTypeOf(x))));
}
void BuildFloorMod(TfliteBuilder& b) {
  b.OutputCodes(
      b.Emit("rest", OpCode::kMod, {b.Codes("x", b.Input(0)), b.Codes("y", b.Input(1))}, ModAttrs{}));
}

void BuildNotEqual(TfliteBuilder& b) {
  b.Output(OpCode::kNot, {b.Emit("equal", OpCode::kEqual, {b.Operand(0), b.Operand(1)})});
}

/// The angle of (x, y): atan(y / x), moved by half a turn where x is negative. Zeros have signs, and where
/// both are zeros or both infinite they stand for their signs, so that the ratio is a number.
void BuildAtan2(TfliteBuilder& b) {
  const ValueId y = b.Input(0);
  const ValueId x = b.Input(1);
  const DType dtype = b.DTypeOf(x);
  const auto number = [&](const char* name, double value) { return b.Scalar(name, dtype, value); };
  const auto choose = [&](const char* name, ValueId condition, ValueId a, ValueId c) {
    return b.Emit(name, OpCode::kWhere, {condition, a, c});
  };
  const ValueId zero = number("zero", 0);
  const ValueId one = number("one", 1);
  const ValueId minus_one = number("minus_one", -1);
  // A zero's sign is that of its inverse.
  const auto negative = [&](const char* name, ValueId of) {
    return b.Emit(name, OpCode::kOr,
                  {b.Emit("below_zero", OpCode::kLess, {of, zero}),
                   b.Emit("inverse_below_zero", OpCode::kLess, {EmitDiv(b, "inverse", one, of), zero})});
  };
  const ValueId below = negative("below", y);
  const ValueId left = negative("left", x);
  const ValueId alike = b.Emit("alike", OpCode::kEqual,
                               {b.Emit("height", OpCode::kAbs, {y}), b.Emit("width", OpCode::kAbs, {x})});
  const ValueId level = b.Emit("level", OpCode::kEqual, {y, zero});
  const ValueId up = choose("up", level, y, choose("y_sign", below, minus_one, one));
  const ValueId across = choose("x_sign", left, minus_one, one);
  const ValueId ratio = EmitDiv(b, "ratio", choose("rise", alike, up, y), choose("run", alike, across, x));
  const ValueId angle = b.Emit("angle", OpCode::kAtan, {ratio});
  const ValueId half_turn = choose("half_turn", below, number("minus_pi", -0x1.921fb54442d18p+1),
                                   number("pi", 0x1.921fb54442d18p+1));
  b.Output(OpCode::kWhere, {left, EmitAdd(b, "moved", angle, half_turn), angle});
}

void BuildBitwiseXor(TfliteBuilder& b) {
  for (size_t i = 0; i < b.input_count(); ++i) {
    if (b.IsQuantized(b.Input(i)))
      b.Unsupported("is of the bits of quantised integers; dequantise them first");
  }
  BuildDirectTflite(b);
}

/// An arithmetic shift: the quotient, rounded down, by a power of two. LiteRT shifts by 0 to all bits but
/// one.
void BuildRightShift(TfliteBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const ValueId most = b.Scalar("most", dtype, static_cast<double>(DTypeBits(dtype) - 1));
  const ValueId no_more = b.Emit("no_more", OpCode::kMin, {b.Input(1), most});
  if (dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32)
    return b.Output(OpCode::kShiftRight, {x, no_more});
  const ValueId by = b.Emit("no_less", OpCode::kMax, {no_more, b.Scalar("none", dtype, 0)});
  const ValueId wide = b.CastTo("wide", x, DType::kI64);
  const ValueId power = b.Emit("power", OpCode::kCast,
                               {b.Emit("shifted", OpCode::kShiftLeft,
                                       {b.Scalar("one", DType::kU64, 1), b.CastTo("by", by, DType::kU64)})},
                               CastAttrs{static_cast<int64_t>(DType::kI64)});
  const ValueId rest = b.Emit("rest", OpCode::kMod, {wide, power}, ModAttrs{});
  b.OutputValue(EmitDiv(b, "quotient", EmitSub(b, "multiple", wide, rest), power));
}

constexpr TfliteOp kRows[] = {
    {Op::ADD, BuildActivated<tflite::AddOptions>, OpCode::kAdd},
    {Op::SUB, BuildActivated<tflite::SubOptions>, OpCode::kSub},
    {Op::MUL, BuildActivated<tflite::MulOptions>, OpCode::kMul},
    {Op::DIV, BuildActivated<tflite::DivOptions>, OpCode::kDiv},
    {Op::MAXIMUM, BuildDirectTflite, OpCode::kMax},
    {Op::MINIMUM, BuildDirectTflite, OpCode::kMin},
    {Op::STABLEHLO_ADD, BuildDirectTflite, OpCode::kAdd},
    {Op::STABLEHLO_MULTIPLY, BuildDirectTflite, OpCode::kMul},
    {Op::STABLEHLO_MAXIMUM, BuildDirectTflite, OpCode::kMax},
    {Op::STABLEHLO_MINIMUM, BuildDirectTflite, OpCode::kMin},
    {Op::POW, BuildDirectTflite, OpCode::kPow},
    {Op::PRELU, BuildDirectTflite, OpCode::kPRelu},
    {Op::SQUARE, BuildSquare},
    {Op::SQUARED_DIFFERENCE, BuildSquaredDifference},
    {Op::ADD_N, BuildAddN},
    {Op::FLOOR_DIV, BuildFloorDiv},
    {Op::FLOOR_MOD, BuildFloorMod},
    {Op::LOGICAL_AND, BuildLogicalTflite, OpCode::kAnd},
    {Op::LOGICAL_OR, BuildLogicalTflite, OpCode::kOr},
    {Op::BITWISE_XOR, BuildBitwiseXor, OpCode::kBitwiseXor},
    {Op::RIGHT_SHIFT, BuildRightShift},
    {Op::EQUAL, BuildDirectTflite, OpCode::kEqual},
    {Op::NOT_EQUAL, BuildNotEqual},
    {Op::LESS, BuildDirectTflite, OpCode::kLess},
    {Op::LESS_EQUAL, BuildDirectTflite, OpCode::kLessOrEqual},
    {Op::GREATER, BuildDirectTflite, OpCode::kGreater},
    {Op::GREATER_EQUAL, BuildDirectTflite, OpCode::kGreaterOrEqual},
    {Op::ATAN2, BuildAtan2},
};

}  // namespace

std::span<const TfliteOp> TfliteArithmeticOps() { return kRows; }

}  // namespace skiff
