#include "delegates/xnnpack/quantized_support.h"

#include <cmath>

#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/quantized.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// XNNPACK multiplies extents of windows in 32 bits; beyond this nothing is a real model any more.
constexpr int64_t kMostWindow = 1 << 12;

/// Terms of a product whose sum leaves room for a bias in 32 bits.
constexpr int64_t kMostTermsSigned = 1 << 15;
constexpr int64_t kMostTermsUnsigned = 1 << 14;

/// The factor from sums to codes that XNNPACK's kernels take, some of them as a fixed-point number.
constexpr float kLeastFactor = kLeastSumFactor;
constexpr float kFactorEnd = 256;

bool Has(const NodeTypes& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != nullptr; }
bool IsConstant(const NodeTypes& node, size_t i) { return Has(node, i) && node.inputs[i]->constant; }
const TensorView& In(const NodeTypes& node, size_t i) { return node.inputs[i]->view; }
const TensorView& Out(const NodeTypes& node) { return node.outputs[0]->view; }

bool IsF32(const TensorView& view) { return view.dtype == DType::kF32; }
bool IsWord(DType dtype) { return dtype == DType::kI16 || dtype == DType::kU16; }
bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

/// Codes of 8 bits with one scale.
bool AreCodes(const TensorView& view) {
  return IsByte(view.dtype) && view.quantization != nullptr && view.quantization->per_tensor();
}

bool Within(const Ints& values, int64_t low, int64_t high) {
  for (int64_t value : values) {
    if (value < low || value > high) return false;
  }
  return true;
}

template <class Attrs>
bool IsWindow(const Attrs& attrs) {
  return Within(attrs.strides, 1, kMostWindow) && Within(attrs.dilations, 1, kMostWindow) &&
         Within(attrs.pads, 0, kMostWindow);
}

bool IsNormal(const Quantization& quantization) {
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (!std::isnormal(quantization.ScaleAt(i))) return false;
  }
  return true;
}

/// One scale, or one for each index of `axis`.
bool HasScalesAlong(const Quantization& quantization, int axis) {
  return quantization.per_tensor() || (quantization.axis == axis && quantization.block == 0);
}

/// Constant weights that XNNPACK's kernels of this dtype multiply by.
bool HasWeights(const NodeTypes& node, int channel_axis, DType dtype) {
  if (!IsConstant(node, 1) || In(node, 1).dtype != dtype || In(node, 1).quantization == nullptr) return false;
  const Quantization& w = *In(node, 1).quantization;
  return dtype == DType::kU8 ? IsNormal(w) && w.per_tensor() : HasSymmetricScales(w, channel_axis);
}

/// No bias, or one in units of the products.
bool HasExactBias(const NodeTypes& node) {
  if (!Has(node, 2)) return true;
  const TensorView& bias = In(node, 2);
  if (bias.quantization == nullptr) return false;
  const Quantization& w = *In(node, 1).quantization;
  const auto x_scale = static_cast<double>(In(node, 0).quantization->scale);
  const int64_t count = w.count > bias.quantization->count ? w.count : bias.quantization->count;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = x_scale * static_cast<double>(w.ScaleAt(w.per_tensor() ? 0 : i));
    if (bias.quantization->ScaleAt(bias.quantization->per_tensor() ? 0 : i) != static_cast<float>(unit))
      return false;
  }
  return true;
}

/// A bias that becomes integers in units of the products: exactly, or rounded to units none of which is
/// larger than the output's. The smaller ones than kLeastFactor are not those that kernels get
/// (ProductTerms).
bool HasBias(const NodeTypes& node, float least_factor, float largest_factor) {
  if (!Has(node, 2)) return true;
  const TensorView& bias = In(node, 2);
  if (!IsConstant(node, 2) || bias.shape.rank() != 1) return false;
  const bool rounds = largest_factor <= 1 && least_factor >= kLeastFactor;
  if (bias.quantization == nullptr) return IsF32(bias) && rounds;
  return bias.dtype == DType::kI32 && HasScalesAlong(*bias.quantization, 0) && (rounds || HasExactBias(node));
}

/// Codes times constant codes, plus a constant bias. `terms` is how many products make a sum.
bool IsProduct(const NodeTypes& node, int channel_axis, int64_t terms, float min, float max) {
  const TensorView& x = In(node, 0);
  const TensorView& y = Out(node);
  if (!AreCodes(x) || !AreCodes(y) || x.dtype != y.dtype || !HasWeights(node, channel_axis, x.dtype))
    return false;
  if (terms < 1 || terms > (x.dtype == DType::kI8 ? kMostTermsSigned : kMostTermsUnsigned)) return false;
  if (!IsNormal(*x.quantization) || !IsNormal(*y.quantization) || !(min <= max)) return false;
  const Quantization& w = *In(node, 1).quantization;
  float least = kFactorEnd;
  float largest = 0;
  for (int64_t i = 0; i < w.count; ++i) {
    const float factor = x.quantization->scale * w.ScaleAt(i) / y.quantization->scale;
    if (!(factor < kFactorEnd)) return false;
    least = factor < least ? factor : least;
    largest = factor > largest ? factor : largest;
  }
  return HasBias(node, least, largest);
}

bool HasWindowWeights(const NodeTypes& node) {
  const Shape& weights = In(node, 1).shape;
  return weights.rank() == 4 && weights[1] <= kMostWindow && weights[2] <= kMostWindow &&
         weights.elements() > 0;
}

bool SupportsQuantizedConv2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Conv2dAttrs>();
  return HasWindowWeights(node) && IsWindow(attrs) &&
         IsProduct(node, 0, In(node, 1).shape.ElementsBetween(1, 4), attrs.min, attrs.max);
}

bool SupportsQuantizedConvTranspose2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ConvTranspose2dAttrs>();
  return HasWindowWeights(node) && IsWindow(attrs) && Within(attrs.output_pads, 0, kMostWindow) &&
         IsProduct(node, 0, In(node, 1).shape.ElementsBetween(1, 4), attrs.min, attrs.max);
}

/// f32 times symmetric i8, to f32. The bias is divided by the scales.
bool IsF32TimesWeights(const NodeTypes& node, int channel_axis, float min, float max) {
  const bool floats = IsF32(In(node, 0)) && IsF32(Out(node)) && In(node, 0).quantization == nullptr;
  const bool bias = !Has(node, 2) || (IsConstant(node, 2) && IsF32(In(node, 2)));
  if (!floats || !bias || !(min < max) || !HasWeights(node, channel_axis, DType::kI8)) return false;
  const Quantization& w = *In(node, 1).quantization;
  for (int64_t i = 0; i < w.count; ++i) {
    if (w.ScaleAt(i) < kLeastFactor) return false;
  }
  return true;
}

bool SupportsQuantizedFullyConnected(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ClampAttrs>();
  if (!Has(node, 1) || In(node, 1).shape.rank() != 2) return false;
  return IsProduct(node, 0, In(node, 1).shape[1], attrs.min, attrs.max) ||
         IsF32TimesWeights(node, 0, attrs.min, attrs.max);
}

bool SupportsQuantizedMatMul(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<MatMulAttrs>();
  const Shape& w = In(node, 1).shape;
  if (w.rank() < 1 || w.rank() > 2) return false;
  const int channel_axis = attrs.transpose_b ? 0 : 1;
  const int64_t terms = w.rank() == 1 ? w[0] : w[1 - channel_axis];
  if (w.rank() == 1 && In(node, 1).quantization != nullptr && !In(node, 1).quantization->per_tensor())
    return false;
  return IsProduct(node, channel_axis, terms, attrs.min, attrs.max) ||
         IsF32TimesWeights(node, channel_axis, attrs.min, attrs.max);
}

bool SupportsQuantizedTable(const NodeTypes& node) { return AreCodes(In(node, 0)) && AreCodes(Out(node)); }

bool SupportsQuantizedQuantize(const NodeTypes& node) {
  const TensorView& y = Out(node);
  return IsF32(In(node, 0)) && In(node, 0).quantization == nullptr && y.quantization->per_tensor() &&
         (IsByte(y.dtype) || IsWord(y.dtype));
}

bool SupportsQuantizedDequantize(const NodeTypes& node) {
  const TensorView& x = In(node, 0);
  return (IsByte(x.dtype) || IsWord(x.dtype) || x.dtype == DType::kI32) && x.quantization->block == 0 &&
         IsF32(Out(node)) && Out(node).quantization == nullptr;
}

/// Sums of operands whose steps are this much larger than the output's are too coarse in f32.
constexpr float kMostSteps = 0x1p12f;

bool SupportsQuantizedBinary(const NodeTypes& node) {
  const TensorView& a = In(node, 0);
  const TensorView& b = In(node, 1);
  const TensorView& y = Out(node);
  if (!AreCodes(a) || !AreCodes(b) || !AreCodes(y) || a.dtype != y.dtype || b.dtype != y.dtype) return false;
  const CodeFactors factors =
      CodeFactorsOf(node.op->code, a.quantization->scale, b.quantization->scale, y.quantization->scale);
  return std::isnormal(factors.a) && std::isnormal(factors.b) && factors.a <= kMostSteps &&
         factors.b <= kMostSteps;
}

/// The same codes stand for the same numbers on both sides.
bool KeepsCodes(const NodeTypes& node) {
  return AreCodes(In(node, 0)) && In(node, 0).dtype == Out(node).dtype &&
         SameQuantization(In(node, 0).quantization, Out(node).quantization);
}

/// As of floats (support.cpp).
bool SupportsQuantizedMaxPool2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Pool2dAttrs>();
  return KeepsCodes(node) && IsWindow(attrs) && Within(attrs.kernel, 1, kMostWindow) &&
         attrs.kernel[0] * attrs.kernel[1] > 1 && attrs.strides[0] <= attrs.kernel[0] &&
         attrs.strides[1] <= attrs.kernel[1];
}

/// Codes whose sum 32 bits hold.
constexpr int64_t kMostSummed = int64_t{1} << 22;

bool SupportsQuantizedAveragePool2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<Pool2dAttrs>();
  return AreCodes(In(node, 0)) && AreCodes(Out(node)) && In(node, 0).dtype == Out(node).dtype &&
         IsWindow(attrs) && Within(attrs.kernel, 1, kMostWindow) &&
         attrs.kernel[0] * attrs.kernel[1] <= kMostSummed && attrs.dilations[0] == 1 &&
         attrs.dilations[1] == 1;
}

bool SupportsQuantizedResize2d(const NodeTypes& node) {
  const auto& attrs = node.attrs->as<ResizeAttrs>();
  if (!KeepsCodes(node) || attrs.coordinates == ResizeCoordinates::kTfCropAndResize) return false;
  if (attrs.mode == ResizeMode::kNearest) return true;
  return attrs.mode == ResizeMode::kLinear && !attrs.exclude_outside && !attrs.antialias &&
         attrs.coordinates <= ResizeCoordinates::kAsymmetric;
}

bool SupportsQuantizedSoftmax(const NodeTypes& node) {
  const int rank = In(node, 0).shape.rank();
  const bool output = AreCodes(Out(node)) || (IsF32(Out(node)) && Out(node).quantization == nullptr);
  return AreCodes(In(node, 0)) && output && rank > 0;
}

/// The reduced axes are neighbours, or what lies between them has extent 1.
bool SupportsQuantizedReduce(const NodeTypes& node) {
  const TensorView& x = In(node, 0);
  uint32_t mask = 0;
  if (!AreCodes(x) || !AreCodes(Out(node)) || x.dtype != Out(node).dtype) return false;
  if (!ReducedAxes(node.attrs->as<ReduceAttrs>(), x.shape.rank(), &mask) || mask == 0) return false;
  bool begun = false;
  bool ended = false;
  int64_t summed = 1;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (x.shape[i] == 1) continue;
    const bool reduced = ((mask >> i) & 1u) != 0;
    if (reduced && ended) return false;
    begun = begun || reduced;
    ended = begun && !reduced;
    if (reduced && x.shape[i] > 0) summed = summed > kMostSummed ? summed : summed * x.shape[i];
  }
  return summed <= kMostSummed;
}

/// The value is a number, or of the codes that it stands beside.
bool SupportsQuantizedPad(const NodeTypes& node) {
  if (!KeepsCodes(node) || In(node, 0).shape.rank() == 0) return false;
  if (!Has(node, 2)) return true;
  const TensorView& value = In(node, 2);
  if (value.quantization == nullptr) return IsF32(value);
  return value.dtype == In(node, 0).dtype && SameQuantization(value.quantization, In(node, 0).quantization);
}

using SupportsFn = bool (*)(const NodeTypes& node);

constexpr OpRow<SupportsFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, SupportsQuantized##Lowering},
#include "delegates/xnnpack/built_quantized.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "quantized.def must have the order of ops.def");

}  // namespace

bool HasNormalScales(const Quantization& quantization, int axis) {
  return IsNormal(quantization) && HasScalesAlong(quantization, axis);
}

bool HasSymmetricScales(const Quantization& quantization, int axis) {
  return HasNormalScales(quantization, axis) && HasZeroPoint(quantization, 0);
}

bool SupportsQuantized(const NodeTypes& node) {
  const SupportsFn supports = FindRow(kRows, node.op->code);
  return supports != nullptr && supports(node);
}

CodeFactors CodeFactorsOf(OpCode op, float a_scale, float b_scale, float y_scale) {
  switch (op) {
    case OpCode::kMul:
      return {static_cast<float>(static_cast<double>(a_scale) * static_cast<double>(b_scale) /
                                 static_cast<double>(y_scale)),
              1};
    case OpCode::kDiv:
      return {static_cast<float>(static_cast<double>(a_scale) / static_cast<double>(b_scale) /
                                 static_cast<double>(y_scale)),
              1};
    case OpCode::kPRelu:
      return {a_scale / y_scale, b_scale};
    default:
      return {a_scale / y_scale, b_scale / y_scale};
  }
}

}  // namespace skiff::xnnpack
