#include "import/tflite/window.h"

#include <algorithm>

#include "core/extents.h"
#include "graph/evaluate.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"

namespace skiff {
namespace {

/// The scale of products: that of x times those of the weights.
QuantizationPtr ProductQuantization(const Quantization& x, const Quantization& weights) {
  if (weights.per_tensor()) return PerTensor(x.scale * weights.scale);
  std::vector<float> scales;
  for (int64_t i = 0; i < weights.count; ++i) scales.push_back(x.scale * weights.ScaleAt(i));
  return PerAxis(0, std::move(scales));
}

bool FitsI32(const std::vector<int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [](int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; });
}

TransposedPads Pads(const TfliteBuilder& b, bool same, int64_t stride, int64_t span, int64_t input,
                    int64_t output) {
  // What SAME makes of the output has to be the input.
  const bool fits = output >= 1 && output <= kMaxTensorBytes && (!same || (output - 1) / stride + 1 == input);
  if (!fits) b.Invalid("its output's extent {} does not fit the input's {}", output, input);
  int64_t full = 0;
  if (__builtin_mul_overflow(input - 1, stride, &full) || __builtin_add_overflow(full, span, &full))
    b.Invalid("its output does not fit in 63 bits");
  const int64_t beyond = full - output;
  if (!same && beyond > 0 && beyond >= stride + span)
    b.Invalid("its output's extent {} does not fit the input's {}", output, input);
  if (beyond < 0) return {0, 0, -beyond};
  const int64_t begin = same ? beyond / 2 : 0;
  return {begin, beyond - begin, 0};
}

/// LiteRT counts the elements of a bias, and files have it as [1, n], too.
ValueId AsVector(TfliteBuilder& b, ValueId bias) {
  if (bias == kNoValue || b.HasRank(bias, 1)) return bias;
  const TensorData* constant = b.ConstantOf(bias);
  if (constant == nullptr) return EmitReshape(b, "bias_vector", bias, {-1});
  const TensorData vector(constant->dtype(), Shape{constant->elements()}, constant->data());
  const QuantizationPtr& scales = constant->quantization();
  if (!scales) return b.Constant("bias_vector", vector);
  if (!scales->per_tensor() && scales->count != constant->elements())
    b.Invalid("its bias has {} scales for {} elements", scales->count, constant->elements());
  return b.Constant("bias_vector", vector.Quantized(scales->per_tensor() ? scales : AlongAxis(scales, 0)));
}

}  // namespace

AutoPad PaddingOf(tflite::Padding padding) {
  return padding == tflite::Padding::SAME ? AutoPad::kSameUpper : AutoPad::kValid;
}

ValueId BiasOf(TfliteBuilder& b, size_t input, ValueId x, ValueId weights) {
  const ValueId bias = AsVector(b, b.OptionalInput(input));
  if (bias == kNoValue || IsFloat(b.DTypeOf(bias)) || !b.IsQuantized(x)) return bias;
  if (!b.IsQuantized(weights)) b.Invalid("its bias is of integers, its weights are not");
  const QuantizationPtr sums = ProductQuantization(*b.QuantizationOf(x), *b.QuantizationOf(weights));
  const TensorData* constant = b.ConstantOf(bias);
  if (constant == nullptr) return b.EmitQuantized("bias", OpCode::kFromCodes, {bias}, DType::kI32, sums);
  if (QuantizationDefect(*sums, DType::kI32, constant->shape()) != nullptr)
    b.Invalid("its bias has {} elements, which the weights' scales do not fit", constant->elements());
  const std::vector<int64_t> integers = constant->ToInts();
  if (FitsI32(integers)) {
    TensorData narrow(DType::kI32, constant->shape());
    std::copy(integers.begin(), integers.end(), static_cast<int32_t*>(narrow.mutable_data()));
    return b.Constant("bias", narrow.Quantized(sums));
  }
  TensorData real(DType::kF32, constant->shape());  // An i64 bias of i16 activations.
  for (int64_t i = 0; i < constant->elements(); ++i)
    static_cast<float*>(real.mutable_data())[i] =
        static_cast<float>(static_cast<double>(integers[static_cast<size_t>(i)]) *
                           static_cast<double>(sums->ScaleAt(sums->per_tensor() ? 0 : i)));
  return b.Constant("bias", std::move(real));
}

Operands ProductOperands(TfliteBuilder& b, size_t x, size_t weights) {
  Operands operands{b.Input(x), b.Input(weights)};
  if (b.OutputIsQuantized() && b.IsQuantized(operands.x) && b.IsQuantized(operands.weights)) return operands;
  operands.x = b.Real("real_input", operands.x);
  operands.weights = b.Real("real_weights", operands.weights);
  const DType dtype = b.DTypeOf(operands.x);
  if (IsFloat(dtype)) operands.weights = b.CastTo("weights", operands.weights, dtype);
  return operands;
}

TransposedExtents::TransposedExtents(TfliteBuilder& b, tflite::Padding padding, ValueId stated, ValueId x,
                                     int64_t rank)
    : b_(b), same_(padding == tflite::Padding::SAME), stated_(stated), x_(x), rank_(rank) {
  const std::optional<int64_t> count = b.ExtentOf(stated, 0);
  if (count && *count != rank) b.Invalid("its output's shape has {} extents; {} were expected", *count, rank);
}

TransposedPads TransposedExtents::PadsOf(int64_t axis, int64_t stride, int64_t span) {
  const int64_t usual = same_ ? stride : std::max(span, stride);  // Of an input of one element.
  const auto at = static_cast<size_t>(axis);
  const auto dims = b_.TypeOf(x_).dims;
  std::optional<Dim> output;
  if (const auto known = b_.KnownValueOf(stated_); known && axis < known->elements()) {
    output = known->ToInts()[at];
  } else if (const auto elements = b_.ElementsOf(stated_); elements && at < elements->size()) {
    output = (*elements)[at];
  }
  if (dims && at < dims->size() && output) {
    const Dim& input = (*dims)[at];
    if (input.constant() && output->constant())
      return Pads(b_, same_, stride, span, input.value, output->value);
    if (*output == (input - 1) * stride + usual) return Pads(b_, same_, stride, span, 1, usual);
  }
  open_.push_back({axis, stride, span});
  // Beyond the last window the output has at most so many elements.
  return {0, 0, same_ ? std::max<int64_t>(stride - span, 0) : stride - 1};
}

ValueId TransposedExtents::Cropped(ValueId y) {
  const ValueId extents = b_.Integers("stated_extents", stated_);
  const auto number = [&](int64_t n) { return b_.ConstantInts("number", {n}); };
  std::vector<ValueId> begins, ends;
  std::vector<ValueId> shape(static_cast<size_t>(rank_), number(0));  // As it is.
  std::vector<int64_t> axes;
  for (const auto& [axis, stride, span] : open_) {
    const ValueId output = EmitSlice(b_, "stated_extent", extents, 0, axis, axis + 1);
    ValueId begin = number(0);
    if (same_) {
      const ValueId full = EmitAdd(b_, "full_extent",
                                   EmitMul(b_, "strides", ExtentsOf(b_, x_, axis, axis + 1), number(stride)),
                                   number(span - stride));
      const ValueId beyond =
          b_.Emit("beyond", OpCode::kMax, {EmitSub(b_, "difference", full, output), number(0)});
      begin = EmitDiv(b_, "begin", beyond, number(2));
    }
    begins.push_back(begin);
    ends.push_back(EmitAdd(b_, "end", begin, output));
    shape[static_cast<size_t>(axis)] = output;
    axes.push_back(axis);
  }
  const auto joined = [&](const char* name, const std::vector<ValueId>& parts) {
    return b_.Emit(name, OpCode::kConcat, parts, AxisAttrs{0});
  };
  const ValueId cropped =
      b_.Emit("cropped", OpCode::kSlice,
              {y, joined("begins", begins), joined("ends", ends), b_.ConstantInts("axes", axes)});
  // Refuses extents that no such convolution makes.
  return b_.Emit("of_extents", OpCode::kReshape, {cropped, joined("extents", shape)}, ReshapeAttrs{});
}

ValueId PermutedWeights(TfliteBuilder& b, const char* suffix, ValueId weights, const Ints& perm) {
  const TensorData* constant = b.ConstantOf(weights);
  if (constant == nullptr || !constant->quantization()) return EmitTranspose(b, suffix, weights, perm);
  const QuantizationPtr before = constant->quantization();
  QuantizationPtr moved = before;
  if (!before->per_tensor()) {
    const auto at = std::find(perm.begin(), perm.end(), before->axis);
    moved = AlongAxis(before, static_cast<int>(at - perm.begin()));
  }
  // Integers move as plain ones do, those of 4 bits as wider ones.
  const TensorData plain = WholeElements({constant->dtype(), constant->shape(), constant->data()});
  AttrStorage attrs;
  attrs.as<TransposeAttrs>() = TransposeAttrs{perm};
  const TensorData codes = EvaluateOp(OpCode::kTranspose, attrs, {&plain}, 1, b.label())[0];
  return b.Constant(suffix, codes.Quantized(moved));
}

}  // namespace skiff
