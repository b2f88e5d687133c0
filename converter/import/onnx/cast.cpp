#include "import/onnx/cast.h"

#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

RoundingMode RoundingOf(OnnxBuilder& b, FloatFormat format) {
  if (format != FloatFormat::kFloat8E8M0Fnu) return RoundingMode::kNearestEven;
  const std::string name = b.String("round_mode", "up");
  if (name == "up") return RoundingMode::kUp;
  if (name == "down") return RoundingMode::kDown;
  // Between two powers of two the upper one is even: a tie goes up, as the specification has it.
  if (name != "nearest") b.Invalid("attribute 'round_mode' is '{}'; up, down or nearest was expected", name);
  return RoundingMode::kNearestEven;
}

/// The lowest bits, which two's complement makes negative where the type has a sign.
ValueId EmitLowestBits(OnnxBuilder& b, ValueId x, int bits, bool has_sign) {
  const DType from = b.DTypeOf(x);
  const DType wide = from == DType::kI64 || from == DType::kU64 ? DType::kI64 : DType::kI32;
  const auto number = [&](const char* suffix, int64_t n) {
    return b.Scalar(suffix, wide, static_cast<double>(n));
  };
  const int64_t sign = int64_t{1} << (bits - 1);
  ValueId low =
      b.Emit("low", OpCode::kBitwiseAnd, {b.CastTo("integers", x, wide), number("mask", 2 * sign - 1)});
  if (!has_sign) return low;
  low = b.Emit("flipped", OpCode::kBitwiseXor, {low, number("sign", sign)});
  return EmitSub(b, "signed", low, number("offset", sign));
}

}  // namespace

void OutputAs(OnnxBuilder& b, ValueId x, const OnnxType& type) {
  const int bits = SmallIntegerBits(type);
  const bool changes = (bits != 0 || type.format) && &b.OnnxTypeOf(x) != &type;
  if (changes && bits != 0) x = EmitLowestBits(b, x, bits, type.dtype == DType::kI8);
  if (changes && type.format) {
    b.Output(OpCode::kReducePrecision, {b.CastTo("f32", x, DType::kF32)},
             ReducePrecisionAttrs{*type.format, b.Flag("saturate", true), RoundingOf(b, *type.format)});
  } else {
    b.Output(OpCode::kCast, {x}, CastAttrs{static_cast<int64_t>(type.dtype)});
  }
  b.NoteType(b.results()[0], type);
}

}  // namespace skiff
