// TensorFlow Lite rows: between numbers and integers that stand for them.
#include <algorithm>
#include <cmath>

#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// An input whose elements are numbers, or stand for them. Integers of 32 bits are plain ones, whatever scale
/// the file states of them.
ValueId ScaledInput(const TfliteBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.TypeOf(x).dtype;
  if (dtype != DType::kInvalid && !IsFloat(dtype) && !b.IsQuantized(x))
    b.Unsupported("reads {} whose scale is not known; cast them to FLOAT32 and multiply them by the scale",
                  DTypeName(dtype));
  return x;
}

/// From real numbers, or from integers of another scale.
void BuildQuantize(TfliteBuilder& b) {
  if (!b.OutputIsQuantized()) {
    const DType dtype = b.DTypeOfOutput();
    if (dtype == DType::kI32) b.Unsupported("makes {} of a scale; make 8 or 16 bits", DTypeName(dtype));
    b.Invalid("its output has no scale");
  }
  b.OutputValue(ScaledInput(b));
}

/// Of f16, a cast.
void BuildDequantize(TfliteBuilder& b) {
  const ValueId x = ScaledInput(b);
  if (b.IsQuantized(x)) return b.Output(OpCode::kDequantize, {x});
  b.OutputValue(x);
}

/// A sparse constant is dense already.
void BuildDensify(TfliteBuilder& b) { b.Output(OpCode::kIdentity, {b.Moved(0)}); }

/// Rounded to one of 2^bits numbers between min and max, which are moved so that 0 is one of them. In f32, as
/// TensorFlow's kernel does: where 0 lies halfway between two of them, its last bit decides.
void BuildFakeQuant(TfliteBuilder& b) {
  const auto options = b.Options<tflite::FakeQuantOptions>();
  if (options.num_bits < 2 || options.num_bits > 16 || !(options.min < options.max))
    b.Invalid("it rounds to {} bits between {} and {}", options.num_bits, options.min, options.max);
  const float low = options.narrow_range ? 1 : 0;
  const float high = std::exp2(static_cast<float>(options.num_bits)) - 1;
  const float step = (options.max - options.min) / (high - low);
  const float zero = std::round(std::clamp(low - options.min / step, low, high));
  const ValueId x = b.Input(0);
  if (!IsFloat(b.DTypeOf(x))) b.Unsupported("rounds {}; FLOAT32 was expected", DTypeName(b.DTypeOf(x)));
  const auto number = [&](const char* name, float value) {
    return b.Scalar(name, b.DTypeOf(x), static_cast<double>(value));
  };
  const ClampAttrs range{(low - zero) * step, (high - zero) * step};
  const ValueId clamped = b.Emit("clamped", OpCode::kClamp, {x}, range);
  // Halves are rounded up, counted from the lowest number.
  const ValueId bottom = number("bottom", range.min);
  const ValueId steps =
      EmitMul(b, "steps", EmitSub(b, "above", clamped, bottom), number("inverse_step", 1 / step));
  const ValueId whole = b.Emit("whole", OpCode::kFloor, {EmitAdd(b, "moved", steps, number("half", 0.5F))});
  b.OutputValue(EmitAdd(b, "rounded", EmitMul(b, "scaled", whole, number("step", step)), bottom));
}

constexpr TfliteOp kRows[] = {
    {Op::QUANTIZE, BuildQuantize, OpCode::kQuantize},
    {Op::DEQUANTIZE, BuildDequantize, OpCode::kDequantize},
    {Op::DENSIFY, BuildDensify},
    {Op::FAKE_QUANT, BuildFakeQuant},
};

}  // namespace

std::span<const TfliteOp> TfliteQuantizeOps() { return kRows; }

}  // namespace skiff
