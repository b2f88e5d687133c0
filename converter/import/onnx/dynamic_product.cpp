#include "import/onnx/dynamic_product.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantize.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Kind = OnnxDynamicValue::Kind;

const OnnxDynamicValue* Find(OnnxBuilder& b, ValueId value, Kind kind) {
  const OnnxDynamicValue* found = b.DynamicValue(value);
  return found != nullptr && found->kind == kind ? found : nullptr;
}

/// A factor for each output as one vector, or one number; nothing where it lies along other axes of the
/// product, or gives it more.
std::optional<TensorData> ScalesOf(OnnxBuilder& b, ValueId scale, const OnnxDynamicValue& product) {
  const TensorData* constant = b.ConstantOf(scale);
  if (constant == nullptr || constant->dtype() != DType::kF32) return {};
  const Shape& shape = constant->shape();
  const Shape& weights = b.ConstantOf(product.weights)->shape();
  if (weights.rank() < 2 || !b.KnowsRank(product.x)) return {};
  const int x_rank = b.RankOf(product.x);
  // Of [batch, channels, spatial axes...], or of rows; a vector makes one row without its axis.
  const bool vector = !product.is_convolution && x_rank == 1;
  if (shape.rank() > std::max(x_rank, weights.rank()) - (vector ? 1 : 0)) return {};
  if (constant->elements() == 1) return constant->Reshaped({});
  const int axis = shape.rank() - (product.is_convolution ? weights.rank() - 1 : 1);
  const int64_t outputs = product.is_convolution ? weights[0] : weights.last();
  if (axis < 0 || shape[axis] != outputs || constant->elements() != outputs) return {};
  return constant->Reshaped({outputs});
}

/// Input 0 or 1 of a Mul that is of this kind, and the other one.
struct Operands {
  const OnnxDynamicValue* known = nullptr;
  ValueId other = kNoValue;
};
Operands FindOperand(OnnxBuilder& b, Kind kind) {
  for (size_t i = 0; i < 2; ++i) {
    if (const OnnxDynamicValue* known = Find(b, b.Input(i), kind)) return {known, b.Input(1 - i)};
  }
  return {};
}

}  // namespace

void NoteDynamicCodes(OnnxBuilder& b, ValueId scale, ValueId zero_point) {
  OnnxDynamicValue codes;
  codes.x = b.Input(0);
  codes.scale = scale;
  codes.zero_point = zero_point;
  b.NoteDynamicValue(b.results()[0], codes);
  // The factor that quantisers multiply by the weights' scale.
  codes.kind = Kind::kScales;
  b.NoteDynamicValue(scale, codes);
}

void NoteMovedCodes(OnnxBuilder& b) {
  static constexpr std::array<std::string_view, 6> kMoving = {"Flatten", "Identity",  "Reshape",
                                                              "Squeeze", "Transpose", "Unsqueeze"};
  if (!b.node().domain().empty() || b.DynamicValue(b.OptionalInput(0)) == nullptr ||
      std::find(kMoving.begin(), kMoving.end(), b.node().op_type()) == kMoving.end())
    return;
  const OnnxDynamicValue* codes = Find(b, b.Input(0), Kind::kCodes);
  if (codes == nullptr || b.DynamicValue(b.results()[0]) != nullptr) return;
  OnnxDynamicValue moved = *codes;
  std::vector<ValueId> inputs = {moved.x};
  for (size_t i = 1; i < b.input_count(); ++i) inputs.push_back(b.OptionalInput(i));
  moved.x = EmitOnnx(b, "of_reals", b.node().op_type(), b.opset(), std::move(inputs), NodeAttributes(b));
  b.NoteDynamicValue(b.results()[0], moved);
}

void NoteDynamicProduct(OnnxBuilder& b, bool is_convolution) {
  const OnnxDynamicValue* codes = Find(b, b.Input(0), Kind::kCodes);
  if (codes == nullptr || b.OptionalInput(2) != codes->zero_point) return;
  OnnxDynamicValue product = *codes;
  product.kind = Kind::kProduct;
  product.weights = b.Input(1);
  product.weights_zero_point = b.OptionalInput(3);
  product.is_convolution = is_convolution;
  product.attributes = NodeAttributes(b);
  b.NoteDynamicValue(b.results()[0], product);
}

void NoteDynamicCast(OnnxBuilder& b) {
  const OnnxDynamicValue* product = Find(b, b.Input(0), Kind::kProduct);
  if (product != nullptr && b.DTypeOf(b.results()[0]) == DType::kF32)
    b.NoteDynamicValue(b.results()[0], OnnxDynamicValue(*product));
}

bool OutputDynamicProduct(OnnxBuilder& b) {
  if (const Operands product = FindOperand(b, Kind::kProduct); product.known != nullptr) {
    const OnnxDynamicValue* scales = Find(b, product.other, Kind::kScales);
    const bool whole = scales != nullptr && scales->weights_scale != kNoValue &&
                       scales->scale == product.known->scale &&
                       IsDynamicProduct(b, *product.known, scales->weights_scale);
    if (!whole) return false;
    EmitDynamicProduct(b, nullptr, *product.known, scales->weights_scale);
    return true;
  }
  return false;
}

void NoteDynamicScales(OnnxBuilder& b) {
  const Operands scales = FindOperand(b, Kind::kScales);
  if (scales.known == nullptr || scales.known->weights_scale != kNoValue ||
      b.ConstantOf(scales.other) == nullptr)
    return;
  OnnxDynamicValue both = *scales.known;
  both.weights_scale = scales.other;
  b.NoteDynamicValue(b.results()[0], both);
}

bool IsDynamicProduct(OnnxBuilder& b, const OnnxDynamicValue& product, ValueId weights_scale) {
  const bool zero_point =
      product.weights_zero_point == kNoValue || b.ConstantOf(product.weights_zero_point) != nullptr;
  return zero_point && b.ConstantOf(product.weights) != nullptr && ScalesOf(b, weights_scale, product);
}

ValueId EmitDynamicProduct(OnnxBuilder& b, const char* suffix, const OnnxDynamicValue& product,
                           ValueId weights_scale) {
  const ValueId x = b.Emit("rounded", OpCode::kFakeQuantize, {product.x}, FakeQuantizeAttrs{0, false});
  const ValueId scale = b.Constant("scale", *ScalesOf(b, weights_scale, product));
  const ValueId weights = EmitReal(b, "weights", product.weights,
                                   {scale, product.weights_zero_point, product.is_convolution ? 0 : -1});
  // The node may be of a domain that counts its opsets from 1.
  if (product.is_convolution)
    return EmitOnnx(b, suffix, "Conv", kNewestOnnxOpset, {x, weights}, product.attributes);
  return EmitOnnx(b, suffix, "MatMul", kNewestOnnxOpset, {x, weights});
}

}  // namespace skiff
