#include "import/tflite/builder.h"

#include "ops/op_codes.h"

namespace skiff {

using tflite::Activation;

Span<const uint8_t> TfliteBuilder::CustomOptions() const {
  const auto* bytes = source_.node->custom_options();
  return bytes == nullptr ? Span<const uint8_t>{} : Span<const uint8_t>{bytes->data(), bytes->size()};
}

DType TfliteBuilder::DTypeOfOutput(size_t i) const {
  if (i >= source_.output_types.size()) Invalid("output {} is missing", i);
  const DType dtype = DTypeOfTflite(source_.output_types[i]);
  if (dtype == DType::kInvalid)
    Unsupported("makes {}, which Skiff does not have", TfliteTypeName(source_.output_types[i]));
  return dtype;
}

ValueId TfliteBuilder::Real(const char* suffix, ValueId value) {
  return IsQuantized(value) ? Emit(suffix, OpCode::kDequantize, {value}) : value;
}

ValueId TfliteBuilder::Operand(size_t i) {
  const ValueId value = Input(i);
  return OutputIsQuantized() ? value : Real(fmt::format("real_{}", i).c_str(), value);
}

ValueId TfliteBuilder::Moved(size_t i, size_t output) {
  const ValueId value = Input(i);
  if (!OutputIsQuantized(output)) {
    // Integers of the same type without a scale: the bytes are moved, whatever they stand for.
    const bool codes = IsQuantized(value) && DTypeOfOutput(output) == DTypeOf(value);
    const std::string name = fmt::format("{}_{}", codes ? "codes" : "real", i);
    return codes ? Codes(name.c_str(), value) : Real(name.c_str(), value);
  }
  const DeclaredType& declared = DeclaredOutput(output);
  if (IsQuantized(value) && SameQuantization(QuantizationOf(value), declared.quantization)) return value;
  return EmitQuantized(fmt::format("rounded_{}", i).c_str(),
                       IsQuantized(value) ? OpCode::kRequantize : OpCode::kQuantize, {value}, declared.dtype,
                       declared.quantization);
}

ValueId TfliteBuilder::Integers(const char* suffix, ValueId value) {
  if (IsQuantized(value))
    Invalid("'{}' is quantised; plain integers were expected", graph_.value(value).name);
  if (const TensorData* constant = ConstantOf(value);
      constant != nullptr && constant->dtype() != DType::kI64) {
    if (IsFloat(constant->dtype()) || constant->dtype() == DType::kBool)
      Invalid("'{}' is {}; integers were expected", graph_.value(value).name, DTypeName(constant->dtype()));
    TensorData wide(DType::kI64, constant->shape());
    const std::vector<int64_t> elements = constant->ToInts();
    std::copy(elements.begin(), elements.end(), static_cast<int64_t*>(wide.mutable_data()));
    return Constant(suffix, std::move(wide));
  }
  return CastTo(suffix, value, DType::kI64);
}

ValueId TfliteBuilder::IntegerScalar(const char* suffix, ValueId value) {
  const ValueId wide = Integers(suffix, value);
  if (HasRank(wide, 0)) return wide;
  const ValueId none = Constant("no_extents", TensorData(DType::kI64, Shape{0}));
  return Emit("scalar", OpCode::kReshape, {wide, none}, ReshapeAttrs{});
}

int64_t TfliteBuilder::ConstantInt(size_t i, const char* what) const {
  const std::vector<int64_t> numbers = ConstantInts(i, what);
  if (numbers.size() != 1) Invalid("the {} has {} elements; 1 was expected", what, numbers.size());
  return numbers[0];
}

ValueId TfliteBuilder::ImaginaryInput(size_t i) const {
  if (i >= source_.imaginary.size() || source_.imaginary[i] == kNoValue)
    Invalid("input {} is not complex; {} was expected", i, TfliteTypeName(tflite::TensorType::COMPLEX64));
  return source_.imaginary[i];
}

void TfliteBuilder::OutputImaginary(ValueId value, size_t i) {
  if (i >= imaginary_.size()) Invalid("output {} is missing", i);
  imaginary_[i] = value;
}

void TfliteBuilder::BuildParts(void (*build)(TfliteBuilder& builder)) {
  build(*this);
  Call parts = call();
  parts.nested = true;
  for (size_t i = 0; i < parts.inputs.size(); ++i) {
    if (source_.imaginary[i] != kNoValue) parts.inputs[i] = source_.imaginary[i];
  }
  TfliteBuilder imaginary(graph_, untyped_, std::move(parts), source_);
  build(imaginary);
  imaginary_ = imaginary.results();
}

void TfliteBuilder::OutputValue(ValueId value, size_t i) {
  if (OutputIsQuantized(i)) {
    const OpCode op = IsQuantized(value) ? OpCode::kRequantize : OpCode::kQuantize;
    return Output(op, {value}, NoAttrs{}, i);
  }
  value = Real("number", value);
  const DType dtype = DTypeOfOutput(i);
  if (graph_.value(value).dtype != DType::kInvalid && graph_.value(value).dtype != dtype)
    return Output(OpCode::kCast, {value}, CastAttrs{static_cast<int64_t>(dtype)}, i);
  Output(OpCode::kIdentity, {value}, NoAttrs{}, i);
}

void TfliteBuilder::OutputCodes(ValueId codes, size_t i) {
  if (OutputIsQuantized(i)) return Output(OpCode::kFromCodes, {codes}, NoAttrs{}, i);
  OutputValue(codes, i);
}

bool TfliteBuilder::HasRange(Activation activation) {
  return activation != Activation::TANH && activation != Activation::SIGN_BIT;
}

ClampAttrs TfliteBuilder::RangeOf(Activation activation) {
  switch (activation) {
    case Activation::RELU:
      return {0, kInfinity};
    case Activation::RELU_N1_TO_1:
      return {-1, 1};
    case Activation::RELU6:
      return {0, 6};
    default:
      return {};
  }
}

ValueId TfliteBuilder::Activated(const char* suffix, ValueId value, Activation activation) {
  if (activation == Activation::NONE) return value;
  if (activation == Activation::TANH) return Emit(suffix, OpCode::kTanh, {value});
  if (!HasRange(activation)) Unsupported("has the fused activation SIGN_BIT");
  return Emit(suffix, OpCode::kClamp, {value}, RangeOf(activation));
}

void TfliteBuilder::OutputActivated(ValueId value, Activation activation) {
  OutputValue(Activated("activated", value, activation));
}

void TfliteBuilder::CheckRange(const char* name, int64_t number, int64_t lowest) const {
  if (number < lowest || number > kMaxWindowNumber)
    Invalid("its {} is {}; a number from {} to {} was expected", name, number, lowest, kMaxWindowNumber);
}

}  // namespace skiff
