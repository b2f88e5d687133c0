#include "import/onnx/quantize.h"

#include <algorithm>
#include <cmath>

#include "core/code_range.h"
#include "graph/evaluate.h"
#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// A helper value, or ONNX output 0 where it has no suffix.
template <class A>
ValueId Make(OnnxBuilder& b, const char* suffix, OpCode op, std::vector<ValueId> inputs, const A& attrs) {
  if (suffix != nullptr) return b.Emit(suffix, op, std::move(inputs), attrs);
  b.Output(op, std::move(inputs), attrs);
  return b.results()[0];
}

ValueId MakeCast(OnnxBuilder& b, const char* suffix, ValueId x, DType dtype) {
  return Make(b, suffix, OpCode::kCast, {x}, CastAttrs{static_cast<int64_t>(dtype)});
}

/// Constants are rounded here: as integers they take less memory, which no pass would give back.
ValueId MakeConstantCodes(OnnxBuilder& b, const char* suffix, const TensorData& numbers, DType dtype,
                          const QuantizationPtr& as) {
  AttrStorage none;
  const TensorData quantized = EvaluateOp(OpCode::kQuantize, none, {&numbers}, 1, "", {{dtype, as}})[0];
  TensorData codes(dtype, quantized.shape(), quantized.data());
  if (suffix != nullptr) return b.Constant(suffix, std::move(codes));
  b.OutputConstant(std::move(codes));
  return b.results()[0];
}

/// The only axis of a tensor along which there is more than one element; nothing where there are several.
std::optional<int> OnlyAxis(const Shape& shape) {
  std::optional<int> only;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    if (only) return {};
    only = axis;
  }
  return only;
}

/// The axis that a vector of scales belongs to.
int AxisOfVector(OnnxBuilder& b, const OnnxQuantization& of, int rank) {
  return rank == 1 ? 0 : AxisOf(b, "axis", of.axis, rank);
}

/// Where the scales of a tensor of this shape lie.
std::optional<int> AxisOfScales(OnnxBuilder& b, const TensorData& scales, int rank,
                                const OnnxQuantization& of) {
  if (of.block > 0) return AxisOf(b, "axis", of.axis, rank);
  if (scales.shape().rank() == 1) return AxisOfVector(b, of, rank);
  return scales.shape().rank() == rank ? OnlyAxis(scales.shape()) : std::nullopt;
}

/// The same with all scales above 0, and zero points on the other side of where the dtype has its middle for
/// those below.
QuantizationPtr OfPositiveScales(const Quantization& from, DType dtype) {
  const CodeRange& range = *CodeRangeOf(dtype);
  std::vector<float> scales;
  std::vector<int32_t> zeros;
  for (int64_t i = 0; i < from.count; ++i) {
    const float scale = from.ScaleAt(i);
    const int64_t zero = from.ZeroPointAt(i);
    scales.push_back(scale == 0 ? 1 : std::abs(scale));
    zeros.push_back(static_cast<int32_t>(scale < 0 ? range.low + range.high - zero : zero));
  }
  return from.per_tensor() ? PerTensor(scales[0], zeros[0])
                           : PerAxis(from.axis, std::move(scales), std::move(zeros), from.block);
}

/// Element i of what may be one element for all.
template <class T>
T Each(const std::vector<T>& elements, size_t i) {
  return elements.size() == 1 ? elements[0] : elements[i];
}

/// KnownQuantization, which may be invalid.
QuantizationPtr StatedQuantization(OnnxBuilder& b, ValueId like, DType dtype, const OnnxQuantization& from) {
  const std::optional<TensorData> scales = b.KnownValueOf(from.scale);
  std::optional<TensorData> zeros = TensorData(dtype, Shape{});
  if (from.zero_point != kNoValue) zeros = b.KnownValueOf(from.zero_point);
  if (!scales || !zeros || !IsFloat(scales->dtype()) || IsFloat(zeros->dtype())) return nullptr;
  const TensorData& longer = scales->elements() < zeros->elements() ? *zeros : *scales;
  const std::vector<double> numbers = scales->ToDoubles();
  const std::vector<int64_t> integers = zeros->ToInts();
  const auto count = static_cast<size_t>(longer.elements());
  if (count == 0) return nullptr;  // Of a tensor without elements.
  if ((numbers.size() != 1 && numbers.size() != count) || (integers.size() != 1 && integers.size() != count))
    return nullptr;
  const auto scale = [&](size_t i) { return static_cast<float>(Each(numbers, i)); };
  // Integers outside of i32 are outside of every dtype.
  const auto zero = [&](size_t i) {
    return static_cast<int32_t>(std::clamp<int64_t>(Each(integers, i), INT32_MIN, INT32_MAX));
  };
  if (count == 1) return PerTensor(scale(0), zero(0));
  const std::optional<int> axis = AxisOfScales(b, longer, b.RankOf(like), from);
  if (!axis) return nullptr;
  std::vector<float> all_scales;
  std::vector<int32_t> all_zeros;
  for (size_t i = 0; i < count; ++i) {
    all_scales.push_back(scale(i));
    all_zeros.push_back(zero(i));
  }
  return PerAxis(*axis, std::move(all_scales), std::move(all_zeros), from.block);
}

}  // namespace

QuantizationPtr KnownQuantization(OnnxBuilder& b, ValueId like, DType dtype, const OnnxQuantization& from) {
  const QuantizationPtr stated = StatedQuantization(b, like, dtype, from);
  if (stated == nullptr) return nullptr;
  const Shape shape = stated->per_tensor() ? Shape() : b.ShapeOf(like);
  return QuantizationDefect(*stated, dtype, shape) == nullptr ? stated : nullptr;
}

std::optional<TensorData> QuantizedConstant(const TensorData& codes, const QuantizationPtr& as) {
  const auto defect = [&](const QuantizationPtr& of) {
    return QuantizationDefect(*of, codes.dtype(), codes.shape());
  };
  if (defect(as) == nullptr) return codes.Quantized(as);
  if (DTypeBits(codes.dtype()) > 8 || CodeRangeOf(codes.dtype()) == nullptr) return {};
  const QuantizationPtr positive = OfPositiveScales(*as, codes.dtype());
  if (defect(positive) != nullptr) return {};
  const int per_byte = 8 / DTypeBits(codes.dtype());
  const int mask = 255 >> (8 - DTypeBits(codes.dtype()));
  const ScaleIndex scale_of(*as, codes.shape());
  TensorData counted(codes.dtype(), codes.shape(), codes.data());
  auto* bytes = static_cast<uint8_t*>(counted.mutable_data());
  for (int64_t i = 0; i < codes.elements(); ++i) {
    const int64_t at = scale_of(i);
    const int shift = static_cast<int>(i % per_byte) * DTypeBits(codes.dtype());
    uint8_t& byte = bytes[i / per_byte];
    // Counted from the other end, all bits are the others.
    if (as->ScaleAt(at) < 0) byte = static_cast<uint8_t>(byte ^ mask << shift);
    if (as->ScaleAt(at) == 0)
      byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (as->ZeroPointAt(at) & mask) << shift);
  }
  return counted.Quantized(positive);
}

namespace {

/// Integers with their quantisation; kNoValue where it is not known, or is none that a value can have.
ValueId EmitKnown(OnnxBuilder& b, const std::string& suffix, ValueId codes, const OnnxQuantization& from) {
  const DType dtype = b.DTypeOf(codes);
  if (const TensorData* constant = b.ConstantOf(codes)) {
    const QuantizationPtr stated = StatedQuantization(b, codes, dtype, from);
    const auto quantized = stated == nullptr ? std::nullopt : QuantizedConstant(*constant, stated);
    return quantized ? b.Constant(suffix.c_str(), *quantized) : kNoValue;
  }
  const QuantizationPtr known = KnownQuantization(b, codes, dtype, from);
  return known == nullptr ? kNoValue
                          : b.EmitQuantized(suffix.c_str(), OpCode::kFromCodes, {codes}, dtype, known);
}

}  // namespace

ValueId EmitProductOfScales(OnnxBuilder& b, const char* suffix, ValueId x, ValueId y, float times) {
  const std::optional<TensorData> one = b.KnownValueOf(x);
  const std::optional<TensorData> many = b.KnownValueOf(y);
  if (!one || !many || one->elements() != 1) {
    const ValueId product = EmitMul(b, suffix, x, y);
    if (times == 1) return product;
    return EmitMul(b, suffix, product, b.Scalar("times", DType::kF32, static_cast<double>(times)));
  }
  std::vector<double> products = many->ToDoubles();
  for (double& product : products) product *= one->ToDoubles()[0] * static_cast<double>(times);
  return b.Constant(suffix, MakeConstant(DType::kF32, many->shape(), products));
}

ValueId EmitAlong(OnnxBuilder& b, const char* suffix, ValueId factor, ValueId like,
                  const OnnxQuantization& of) {
  if (b.HasRank(factor, 0)) return factor;
  if (b.RankOf(factor) == 1 && b.ExtentOf(factor, 0) == 1)
    return b.Emit(suffix, OpCode::kSqueeze, {factor}, AxesAttrs{{0}});
  const int rank = b.RankOf(like);
  if (of.block > 0) {
    const int axis = AxisOf(b, "axis", of.axis, rank);
    const std::optional<int64_t> extent = b.ExtentOf(like, axis);
    if (!extent) OnnxBuilder::Unsupported("has computed scales of blocks along an open dimension");
    const auto integer = [&](const char* what, int64_t number) {
      return b.Scalar(fmt::format("{}_{}", suffix, what).c_str(), DType::kI64, static_cast<double>(number));
    };
    const ValueId place = EmitCount(b, fmt::format("{}_place", suffix).c_str(), integer("extent", *extent));
    const ValueId block =
        EmitDiv(b, fmt::format("{}_block", suffix).c_str(), place, integer("block_size", of.block));
    return b.Emit(suffix, OpCode::kGather, {factor, block}, AxisAttrs{axis});
  }
  if (b.RankOf(factor) != 1) return factor;
  Ints behind;
  for (int64_t i = 1; i < rank - AxisOfVector(b, of, rank); ++i) behind[behind.size++] = i;
  return EmitUnsqueeze(b, suffix, factor, behind);
}

ValueId EmitReal(OnnxBuilder& b, const char* suffix, ValueId codes, const OnnxQuantization& from,
                 DType dtype) {
  const DType stored = b.DTypeOf(codes);
  const std::string name = suffix == nullptr ? "real" : suffix;
  const auto step = [&](const char* what) { return fmt::format("{}_{}", name, what); };
  // Constants of floats of 8 bits are f32 already.
  const ValueId quantized = IsFloat(stored) ? kNoValue : EmitKnown(b, step("quantized"), codes, from);
  if (quantized != kNoValue) {
    if (dtype == DType::kF32) return Make(b, suffix, OpCode::kDequantize, {quantized}, NoAttrs{});
    return MakeCast(b, suffix, b.Emit(step("f32").c_str(), OpCode::kDequantize, {quantized}), dtype);
  }
  // The difference of integers of up to 16 bits is exact in f32.
  const DType wide = stored == DType::kI32 ? stored : DType::kF32;
  ValueId steps = b.CastTo(step("wide").c_str(), codes, wide);
  if (from.zero_point != kNoValue) {
    const ValueId zero = b.CastTo(step("zero_wide").c_str(), from.zero_point, wide);
    steps =
        EmitSub(b, step("steps").c_str(), steps, EmitAlong(b, step("zero_along").c_str(), zero, codes, from));
  }
  steps = b.CastTo(step("steps_f32").c_str(), steps, DType::kF32);
  const ValueId scale = b.CastTo(step("scale").c_str(), from.scale, DType::kF32);
  const ValueId along = EmitAlong(b, step("scale_along").c_str(), scale, codes, from);
  steps = EmitNotGrowing(b, step("as_scale").c_str(), steps, along);
  if (dtype == DType::kF32) return Make(b, suffix, OpCode::kMul, {steps, along}, ClampAttrs{});
  return MakeCast(b, suffix, EmitMul(b, step("f32").c_str(), steps, along), dtype);
}

ValueId EmitCodes(OnnxBuilder& b, const char* suffix, ValueId x, DType dtype, const OnnxQuantization& to,
                  DType precision) {
  const std::string name = suffix == nullptr ? "codes" : suffix;
  const auto step = [&](const char* what) { return fmt::format("{}_{}", name, what); };
  if (const QuantizationPtr known = KnownQuantization(b, x, dtype, to)) {
    if (const TensorData* numbers = b.ConstantOf(x); numbers != nullptr && IsFloat(numbers->dtype()))
      return MakeConstantCodes(b, suffix, *numbers, dtype, known);
    if (!IsFloat(b.DTypeOf(x))) x = b.CastTo(step("float").c_str(), x, precision);
    const ValueId quantized =
        b.EmitQuantized(step("quantized").c_str(), OpCode::kQuantize, {x}, dtype, known);
    return Make(b, suffix, OpCode::kToCodes, {quantized}, CastAttrs{static_cast<int64_t>(dtype)});
  }
  return MakeCast(b, suffix, EmitSteps(b, name.c_str(), x, to, precision, true), dtype);  // Saturates.
}

ValueId EmitSteps(OnnxBuilder& b, const char* suffix, ValueId x, const OnnxQuantization& to, DType precision,
                  bool whole) {
  const auto step = [&](const char* what) { return fmt::format("{}_{}", suffix, what); };
  const ValueId scale = b.CastTo(step("scale").c_str(), to.scale, precision);
  const ValueId along = EmitAlong(b, step("scale_along").c_str(), scale, x, to);
  x = EmitNotGrowing(b, step("as_scale").c_str(), b.CastTo(step("float").c_str(), x, precision), along);
  ValueId steps = EmitDiv(b, step("ratio").c_str(), x, along);
  if (whole) steps = b.Emit(step("whole").c_str(), OpCode::kRound, {steps});
  steps = b.CastTo(step("steps").c_str(), steps, DType::kF32);
  if (to.zero_point == kNoValue) return steps;
  const ValueId zero = b.CastTo(step("zero").c_str(), to.zero_point, DType::kF32);
  return EmitAdd(b, step("from_zero").c_str(), steps, EmitAlong(b, step("zero_along").c_str(), zero, x, to));
}

}  // namespace skiff
