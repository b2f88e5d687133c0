#include "delegates/vulkan/quantized_support.h"

#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/quantized.h"

namespace skiff::vulkan {
namespace {

/// Terms of a product whose sum of 255 * 255 each leaves room for a bias in 32 bits.
constexpr int64_t kMostTerms = 1 << 14;
/// Positions in windows are multiplied in 32 bits.
constexpr int64_t kMostWindow = 1 << 12;
/// The emitter's places for operands that become real numbers.
constexpr size_t kMostReals = 8;

bool Has(const NodeTypes& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != nullptr; }
bool IsConstant(const NodeTypes& node, size_t i) { return Has(node, i) && node.inputs[i]->constant; }
const TensorView& In(const NodeTypes& node, size_t i) { return node.inputs[i]->view; }
const TensorView& Out(const NodeTypes& node) { return node.outputs[0]->view; }

bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }
bool IsReal(const TensorView& view) {
  return view.quantization == nullptr && (view.dtype == DType::kF32 || view.dtype == DType::kF16);
}

/// Of channels that are all but dead, too: shaders flush subnormal numbers.
bool IsUsual(float scale) { return scale > 0x1p-90f && scale < 0x1p90f; }
/// What is computed on real numbers multiplies them.
bool IsUsualOfReals(float scale) { return scale > 0x1p-40f && scale < 0x1p40f; }
/// From sums to codes; larger ones leave f32.
bool IsFactor(double factor) { return factor < 0x1p60; }

/// Codes of 8 bits with one scale.
bool AreCodes(const TensorView& view) {
  return IsByte(view.dtype) && view.quantization != nullptr && view.quantization->per_tensor() &&
         IsUsual(view.quantization->scale);
}

/// One scale, or one for each index of `axis`.
bool HasScalesAlong(const Quantization& quantization, int axis) {
  if (!quantization.per_tensor() && (quantization.axis != axis || quantization.block != 0)) return false;
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (!IsUsual(quantization.ScaleAt(i))) return false;
  }
  return true;
}

bool AreCodesOfReals(const TensorView& view) {
  return AreCodes(view) && IsUsualOfReals(view.quantization->scale);
}
double ScaleOf(const TensorView& view) { return static_cast<double>(view.quantization->scale); }

bool Within(const Ints& values, int64_t low, int64_t high) {
  for (const int64_t value : values) {
    if (value < low || value > high) return false;
  }
  return true;
}

/// Constant weights.
bool HasCodes(const NodeTypes& node, int channel_axis) {
  const TensorView& w = In(node, 1);
  return IsConstant(node, 1) && IsByte(w.dtype) && w.quantization != nullptr &&
         HasScalesAlong(*w.quantization, channel_axis);
}

bool HasBias(const NodeTypes& node) {
  if (!Has(node, 2)) return true;
  const TensorView& bias = In(node, 2);
  if (!IsConstant(node, 2) || bias.shape.rank() != 1) return false;
  if (bias.quantization == nullptr) return IsReal(bias);
  return bias.dtype == DType::kI32 && HasScalesAlong(*bias.quantization, 0);
}

/// Floats times constant codes, plus a constant bias, to floats.
bool IsWeightsProduct(const NodeTypes& node, int channel_axis, int64_t terms) {
  if (!IsReal(In(node, 0)) || !IsReal(Out(node)) || terms < 1) return false;
  const bool bias = !Has(node, 2) || (IsConstant(node, 2) && IsReal(In(node, 2)));
  return bias && HasCodes(node, channel_axis);
}

/// Codes times constant codes, plus a constant bias, to codes or real numbers.
bool IsProduct(const NodeTypes& node, int channel_axis, int64_t terms) {
  if (!AreCodes(In(node, 0)) || !(AreCodes(Out(node)) || IsReal(Out(node)))) return false;
  if (terms < 1 || terms > kMostTerms || !HasCodes(node, channel_axis) || !HasBias(node)) return false;
  const Quantization& w = *In(node, 1).quantization;
  const double x_scale = ScaleOf(In(node, 0)) / (AreCodes(Out(node)) ? ScaleOf(Out(node)) : 1);
  for (int64_t i = 0; i < w.count; ++i) {
    if (!IsFactor(x_scale * static_cast<double>(w.ScaleAt(i)))) return false;
  }
  return true;
}

template <class Attrs>
bool IsConvolution(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Attrs>();
  const Shape& weights = In(node, 1).shape;
  return weights.rank() == 4 && Within(attrs.strides, 1, kMostWindow) &&
         Within(attrs.dilations, 1, kMostWindow) && IsProduct(node, 0, weights.ElementsBetween(1, 4));
}

bool SupportsQuantizedConv2d(const NodeTypes& node) { return IsConvolution<Conv2dAttrs>(node); }
bool SupportsQuantizedConvTranspose2d(const NodeTypes& node) {
  return IsConvolution<ConvTranspose2dAttrs>(node);
}

bool SupportsQuantizedFullyConnected(const NodeTypes& node) {
  const Shape& w = In(node, 1).shape;
  return w.rank() == 2 && (IsProduct(node, 0, w[1]) || IsWeightsProduct(node, 0, w[1]));
}

bool SupportsQuantizedMatMul(const NodeTypes& node) {
  const Shape& w = In(node, 1).shape;
  if (w.rank() < 1 || w.rank() > 2) return false;
  const int channel_axis = node.attrs->as<MatMulAttrs>().transpose_b ? 0 : 1;
  const Quantization* const quantization = In(node, 1).quantization;
  if (w.rank() == 1 && quantization != nullptr && !quantization->per_tensor()) return false;
  const int64_t terms = w.rank() == 1 ? w[0] : w[1 - channel_axis];
  return IsProduct(node, channel_axis, terms) || IsWeightsProduct(node, channel_axis, terms);
}

bool SupportsQuantizedToCodes(const NodeTypes& node) { return IsReal(In(node, 0)) && AreCodes(Out(node)); }
bool SupportsQuantizedFromCodes(const NodeTypes& node) { return AreCodes(In(node, 0)) && IsReal(Out(node)); }

bool IsPool(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Pool2dAttrs>();
  return AreCodes(In(node, 0)) && AreCodes(Out(node)) &&
         IsFactor(ScaleOf(In(node, 0)) / ScaleOf(Out(node))) && Within(attrs.kernel, 1, kMostWindow / 4);
}
bool SupportsQuantizedMaxPool2d(const NodeTypes& node) { return IsPool(node); }
bool SupportsQuantizedAveragePool2d(const NodeTypes& node) { return IsPool(node); }

/// What the operator's own lowering takes as f32.
bool SupportsQuantizedReals(const NodeTypes& node) {
  if (node.inputs.size() > kMostReals || node.outputs.size() != 1) return false;
  PlanTensor reals[kMostReals + 1];
  const PlanTensor* inputs[kMostReals] = {};
  const auto as_real = [](const PlanTensor& tensor, PlanTensor& real) {
    if (tensor.view.quantization == nullptr) return &tensor;
    real.view = TensorView(nullptr, DType::kF32, tensor.view.shape);
    return static_cast<const PlanTensor*>(&real);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!Has(node, i)) continue;
    const TensorView& view = In(node, i);
    if (!node.op->NeedsValues(i) && !AreCodesOfReals(view) && !IsReal(view)) return false;
    inputs[i] = as_real(*node.inputs[i], reals[i]);
  }
  if (Out(node).quantization != nullptr && !AreCodesOfReals(Out(node))) return false;
  const PlanTensor* const output = as_real(*node.outputs[0], reals[kMostReals]);
  return SupportsPlain({node.op, node.attrs, {inputs, node.inputs.size()}, {&output, 1}});
}
bool SupportsQuantizedResize2d(const NodeTypes& node) {
  return AreCodes(In(node, 0)) && AreCodes(Out(node)) && SupportsQuantizedReals(node);
}

/// From 256 codes to 256; floats on one side are no table.
bool SupportsQuantizedLookup(const NodeTypes& node) {
  return (AreCodes(In(node, 0)) && AreCodes(Out(node))) || SupportsQuantizedReals(node);
}
bool SupportsQuantizedBinary(const NodeTypes& node) {
  const TensorView& a = In(node, 0);
  const TensorView& b = In(node, 1);
  if (!AreCodes(a) || !AreCodes(b) || !AreCodes(Out(node))) return SupportsQuantizedReals(node);
  const double y_scale = ScaleOf(Out(node));
  const bool factors = IsFactor(ScaleOf(a) / y_scale) && IsFactor(ScaleOf(b) / y_scale);
  return factors && (node.op->code != OpCode::kMul || IsFactor(ScaleOf(a) * ScaleOf(b) / y_scale));
}

using SupportsFn = bool (*)(const NodeTypes& node);

constexpr OpRow<SupportsFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, SupportsQuantized##Lowering},
#include "delegates/vulkan/built_quantized.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "quantized.def must have the order of ops.def");

}  // namespace

bool SupportsQuantized(const NodeTypes& node) {
  const SupportsFn supports = FindRow(kRows, node.op->code);
  return supports != nullptr && supports(node);
}

}  // namespace skiff::vulkan
