#include "skiff/quantize.h"

#include "core/code_range.h"
#include "core/extents.h"
#include "core/widen.h"
#include "skiff/log.h"

namespace skiff {
namespace {

template <class Code>
void Quantize(const float* from, const TensorView& to) {
  const Quantization& quantization = *to.quantization;
  const ScaleIndex scale_of(quantization, to.shape);
  const CodeRounder round(*CodeRangeOf(to.dtype));
  const int64_t elements = to.shape.elements();
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t at = scale_of(i);
    const double steps = static_cast<double>(from[i]) / static_cast<double>(quantization.ScaleAt(at));
    to.as<Code>()[i] = static_cast<Code>(round(steps, quantization.ZeroPointAt(at)));
  }
}

struct Codec {
  DType dtype;
  void (*quantize)(const float* from, const TensorView& to);
};
constexpr Codec kCodecs[] = {
    {DType::kI8, Quantize<int8_t>},    {DType::kU8, Quantize<uint8_t>},  {DType::kI16, Quantize<int16_t>},
    {DType::kU16, Quantize<uint16_t>}, {DType::kI32, Quantize<int32_t>},
};

/// What is wrong with a tensor, or with the place of the real numbers; null: nothing.
const char* DefectOf(const ConstTensorView& codes, const float* reals) {
  if (codes.quantization == nullptr) return "it is not quantised";
  if (!codes.dense()) return "its rows lie apart";
  if (codes.shape.elements() > 0 && (codes.data == nullptr || reals == nullptr))
    return "its elements are null";
  return QuantizationDefect(*codes.quantization, codes.dtype, codes.shape);
}

Result<const Codec*> CodecFor(const ConstTensorView& codes, const float* reals) {
  if (const char* why = WhyNoTensor(codes.dtype, codes.shape); why != nullptr)
    return Fail(StatusCode::kInvalidArgument, "a tensor %s %s %s", DTypeName(codes.dtype),
                ShapeText(codes.shape).c_str(), why);
  const char* defect = DefectOf(codes, reals);
  for (const Codec& codec : kCodecs) {
    if (defect == nullptr && codec.dtype == codes.dtype) return &codec;
  }
  return Fail(StatusCode::kInvalidArgument,
              "the elements of a tensor %s %s cannot stand for real numbers: %s", DTypeName(codes.dtype),
              ShapeText(codes.shape).c_str(), defect != nullptr ? defect : "only constants have its dtype");
}

}  // namespace

Status QuantizeFloats(const float* from, const TensorView& to) {
  SKIFF_ASSIGN_OR_RETURN(const Codec* codec, CodecFor(to, from));
  codec->quantize(from, to);
  return OkStatus();
}

Status DequantizeToFloats(const ConstTensorView& from, float* to) {
  const Result<const Codec*> codec = CodecFor(from, to);
  if (!codec.ok()) return codec.status();
  WidenCodes(from, to);
  return OkStatus();
}

}  // namespace skiff
