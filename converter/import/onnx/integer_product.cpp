#include "import/onnx/integer_product.h"

#include "import/emit.h"
#include "import/onnx/quantize.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// A constant zero point, or one that can be the quantisation's for other reasons; null where it is computed.
QuantizationPtr KnownSteps(OnnxBuilder& b, const OnnxIntegers& integers, int64_t axis) {
  const ValueId one = b.Scalar("one", DType::kF32, 1);
  return KnownQuantization(b, integers.codes, b.DTypeOf(integers.codes), {one, integers.zero_point, axis});
}

ValueId Quantized(OnnxBuilder& b, const char* suffix, ValueId codes, const QuantizationPtr& as) {
  const TensorData* constant = b.ConstantOf(codes);
  if (constant != nullptr) return b.Constant(suffix, constant->Quantized(as));
  return b.EmitQuantized(suffix, OpCode::kFromCodes, {codes}, b.DTypeOf(codes), as);
}

/// The distances as plain i32.
ValueId WideSteps(OnnxBuilder& b, const std::string& name, const OnnxIntegers& integers, int64_t axis) {
  const ValueId wide = b.CastTo((name + "_wide").c_str(), integers.codes, DType::kI32);
  if (integers.zero_point == kNoValue) return wide;
  const ValueId zero = b.CastTo((name + "_zero").c_str(), integers.zero_point, DType::kI32);
  const ValueId along =
      EmitAlong(b, (name + "_zero_along").c_str(), zero, integers.codes, {kNoValue, kNoValue, axis});
  return EmitSub(b, (name + "_steps").c_str(), EmitNotGrowing(b, (name + "_as_zero").c_str(), wide, along),
                 along);
}

ValueId Product(OnnxBuilder& b, ValueId x, ValueId y) {
  return b.EmitQuantized("product", OpCode::kMatMul, {x, y}, MatMulAttrs{}, DType::kI32, PerTensor(1));
}

ValueId ToIntegers(OnnxBuilder& b, const char* suffix, ValueId sums) {
  const CastAttrs plain{static_cast<int64_t>(DType::kI32)};
  if (suffix != nullptr) return b.Emit(suffix, OpCode::kToCodes, {sums}, plain);
  b.Output(OpCode::kToCodes, {sums}, plain);
  return b.results()[0];
}

/// Where only the zero points of x are computed: the product of its codes, less what the zero points add to
/// it, which are sums over y's columns. kNoValue where that is not so.
ValueId ProductOfCodes(OnnxBuilder& b, const char* suffix, const OnnxIntegers& x, const OnnxIntegers& y) {
  const bool matrices = b.KnowsRank(x.codes) && b.RankOf(x.codes) >= 2 && b.KnowsRank(y.codes) &&
                        b.RankOf(y.codes) >= 2 && b.ConstantOf(y.codes) != nullptr;
  const QuantizationPtr known = KnownSteps(b, y, -1);
  if (!matrices || !known || KnownSteps(b, x, -2)) return kNoValue;
  const ValueId codes = Quantized(b, "x_codes", x.codes, PerTensor(1));
  const ValueId sums = ToIntegers(b, "sums", Product(b, codes, Quantized(b, "y", y.codes, known)));
  const ValueId columns = b.Emit("columns", OpCode::kReduceSum, {WideSteps(b, "y", y, -1)},
                                 ReduceAttrs{.axes = {-2}, .keep_dims = true});
  const ValueId zero = b.CastTo("x_zero", x.zero_point, DType::kI32);
  const ValueId along = EmitAlong(b, "x_zero_along", zero, x.codes, {kNoValue, kNoValue, -2});
  const std::vector<ValueId> difference = {sums, EmitMul(b, "from_zero", along, columns)};
  if (suffix != nullptr) return b.Emit(suffix, OpCode::kSub, difference, ClampAttrs{});
  b.Output(OpCode::kSub, difference, ClampAttrs{});
  return b.results()[0];
}

}  // namespace

ValueId EmitSteps(OnnxBuilder& b, const char* suffix, const OnnxIntegers& integers, int64_t axis) {
  const std::string name = suffix;
  if (const QuantizationPtr known = KnownSteps(b, integers, axis))
    return Quantized(b, suffix, integers.codes, known);
  const ValueId steps = b.CastTo((name + "_i16").c_str(), WideSteps(b, name, integers, axis), DType::kI16);
  return Quantized(b, suffix, steps, PerTensor(1));
}

ValueId EmitIntegerMatMul(OnnxBuilder& b, const char* suffix, const OnnxIntegers& x, const OnnxIntegers& y) {
  const ValueId by_codes = ProductOfCodes(b, suffix, x, y);
  if (by_codes != kNoValue) return by_codes;
  return ToIntegers(b, suffix, Product(b, EmitSteps(b, "x", x, -2), EmitSteps(b, "y", y, -1)));
}

DynamicCodes EmitDynamicCodes(OnnxBuilder& b, const char* suffix, ValueId x) {
  constexpr float kHighest = 255;
  const ReduceAttrs all{.axes = {}, .keep_dims = false};
  const ValueId zero = b.Scalar("zero", DType::kF32, 0);
  const ValueId highest = b.Scalar("highest", DType::kF32, static_cast<double>(kHighest));
  const ValueId low = b.Emit("low", OpCode::kMin, {b.Emit("min", OpCode::kReduceMin, {x}, all), zero});
  const ValueId high = b.Emit("high", OpCode::kMax, {b.Emit("max", OpCode::kReduceMax, {x}, all), zero});
  DynamicCodes made;
  made.scale = EmitDiv(b, "scale", EmitSub(b, "range", high, low), highest);
  const ValueId from_low = EmitSub(b, "from_low", zero, EmitDiv(b, "low_steps", low, made.scale));
  const ValueId limited =
      b.Emit("limited", OpCode::kClamp, {from_low}, ClampAttrs{.min = 0, .max = kHighest});
  made.zero_point = b.CastTo("zero_point", b.Emit("rounded", OpCode::kRound, {limited}), DType::kU8);
  made.codes = EmitCodes(b, suffix, x, DType::kU8, {made.scale, made.zero_point});
  return made;
}

}  // namespace skiff
