#include "import/tflite/window.h"

#include <algorithm>

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

}  // namespace

AutoPad PaddingOf(tflite::Padding padding) {
  return padding == tflite::Padding::SAME ? AutoPad::kSameUpper : AutoPad::kValid;
}

ValueId BiasOf(TfliteBuilder& b, size_t input, ValueId x, ValueId weights) {
  const ValueId bias = b.OptionalInput(input);
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

TransposedPads PadsOfTransposed(const TfliteBuilder& b, tflite::Padding padding, int64_t stride,
                                int64_t kernel, std::optional<int64_t> input, std::optional<int64_t> output) {
  const bool same = padding == tflite::Padding::SAME;
  if (!input || !output) {
    input = 1;
    output = same ? stride : std::max(kernel, stride);
  }
  int64_t full = 0;
  if (__builtin_mul_overflow(*input - 1, stride, &full) || __builtin_add_overflow(full, kernel, &full))
    b.Invalid("its output does not fit in 63 bits");
  const int64_t beyond = full - *output;
  if (*output < 1 || (!same && beyond > 0 && beyond >= stride + kernel))
    b.Invalid("its output's extent {} does not fit the input's {}", *output, *input);
  if (beyond < 0) return {0, 0, -beyond};
  const int64_t begin = same ? beyond / 2 : 0;
  return {begin, beyond - begin, 0};
}

ValueId PermutedWeights(TfliteBuilder& b, const char* suffix, ValueId weights, const Ints& perm) {
  const TensorData* constant = b.ConstantOf(weights);
  if (constant == nullptr || !constant->quantization() || DTypeBits(constant->dtype()) < 8)
    return EmitTranspose(b, suffix, weights, perm);
  const QuantizationPtr before = constant->quantization();
  QuantizationPtr moved = before;
  if (!before->per_tensor()) {
    const auto at = std::find(perm.begin(), perm.end(), before->axis);
    moved = AlongAxis(before, static_cast<int>(at - perm.begin()));
  }
  // Integers move as plain ones do.
  const TensorData plain(constant->dtype(), constant->shape(), constant->data());
  AttrStorage attrs;
  attrs.as<TransposeAttrs>() = TransposeAttrs{perm};
  const TensorData codes = EvaluateOp(OpCode::kTranspose, attrs, {&plain}, 1, b.label())[0];
  return b.Constant(suffix, codes.Quantized(moved));
}

}  // namespace skiff
