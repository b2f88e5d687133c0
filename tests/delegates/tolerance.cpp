#include "tolerance.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "converter/parity/rounding.h"
#include "ops/op_codes.h"
#include "tests/support/operators.h"

namespace skiff::testing {
namespace {

/// Of the bound of products, by Strassen's way of rows and outputs of one size (docs/numerics.md), which
/// those of fewer inputs or outputs never go.
constexpr double kStrassenFactor = 2;
constexpr int64_t kStrassenLeast = 32;

/// XNNPACK flushes subnormal numbers to zero, operands too, and some operators multiply what was flushed by
/// their input: by up to 100 in the f32 cases (SiLU), by 3 in the f16 ones (HardSwish on a CPU that computes
/// in f16).
double Flushed(DType dtype) { return dtype == DType::kF16 ? 0x1p-12 : 0x1p-119; }
double SmallestNormal(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-14 : (dtype == DType::kF64 ? 0x1p-1022 : 0x1p-126);
}

/// The reference's result with the sign of everything removed and no clamp.
std::vector<double> AbsoluteTerms(const Node& node, ModelState& state) {
  Case absolute = node.description();
  absolute.output_row_gap = 0;
  for (size_t i = 0; i < absolute.inputs.size(); ++i) {
    Argument& argument = absolute.inputs[i];
    // Of codes only weights are terms of f32 results: integers without a zero point.
    if (argument.absent || (!IsFloat(argument.dtype) && argument.quantization == nullptr)) continue;
    argument.row_gap = 0;
    argument.values = ElementsOf(node.input(i));
    argument.stored = DType::kInvalid;
    for (double& value : argument.values) value = AbsoluteTerm(absolute.op, i, value);
  }
  absolute.attrs = WithoutClamp(absolute.op, absolute.attrs);
  return Node(absolute).Run(state, {}).outputs[0];
}

/// The largest difference that is allowed, for each element of an output.
std::vector<double> Allowed(const Node& node, const Rounding& rounding, const std::vector<double>& reference,
                            ModelState& terms_state) {
  const DType dtype = node.output(0).dtype;
  if (rounding.rule == RoundingRule::kExact) {
    std::vector<double> allowed(reference.size(), 0.0);
    for (size_t i = 0; i < allowed.size(); ++i) {
      const double magnitude = std::fabs(reference[i]);
      if (magnitude < SmallestNormal(dtype)) allowed[i] = magnitude;
    }
    return allowed;
  }
  const Case& description = node.description();
  std::vector<std::vector<double>> elements(description.inputs.size());
  std::vector<Numbers> inputs(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!node.HasInput(i)) continue;
    elements[i] = ElementsOf(node.input(i));
    inputs[i] = {node.input(i).shape, elements[i]};
  }
  std::vector<double> allowed = AllowedRounding({description.op,
                                                 &description.attrs,
                                                 inputs,
                                                 {node.output(0).shape, reference},
                                                 dtype,
                                                 [&] { return AbsoluteTerms(node, terms_state); }},
                                                rounding);
  for (double& value : allowed) value += Flushed(dtype);
  return allowed;
}

#if !defined(__x86_64__)
bool HasHalfArithmetic() {
#if defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0;
#else
  return false;
#endif
}
#endif

/// Why NaN may become a number, as docs/numerics.md says it; null: it may not.
const char* WhyNanIsLost(const Node& node, DelegateKind delegate) {
#if defined(__x86_64__)
  const OpCode op = node.description().op;
  const bool linear = op == OpCode::kFullyConnected || op == OpCode::kMatMul;
  if (delegate != DelegateKind::kXnnpack ||
      (op != OpCode::kConv2d && op != OpCode::kConvTranspose2d && !linear))
    return nullptr;
  const char* const limit = std::getenv("SKIFF_CPU");
  const auto has = [&](bool cpu_has, const char* tier_without) {
    return cpu_has && (limit == nullptr || std::strcmp(limit, tier_without) != 0);
  };
  const bool avx = has(__builtin_cpu_supports("avx"), "sse");
  const bool avx2 = avx && has(__builtin_cpu_supports("avx2"), "avx");
  const DType dtype = node.output(0).dtype;
  if (dtype == DType::kF16) return avx2 ? "XNNPACK's f16 kernels for x86 take it to a bound" : nullptr;
  if (dtype != DType::kF32) return nullptr;
  if (!avx) return "XNNPACK's SSE kernels take it to a bound";
  if (op == OpCode::kConv2d) return nullptr;
  int64_t outputs = node.output(0).shape.last();
  if (op == OpCode::kConvTranspose2d) outputs /= node.description().attrs.as<ConvTranspose2dAttrs>().groups;
  const bool on_xnnpack = !avx2 || op != OpCode::kMatMul;
  return on_xnnpack && outputs < 32 ? "XNNPACK computes few outputs by SSE kernels" : nullptr;
#else
  const OpCode op = node.description().op;
  const bool chooses = op == OpCode::kMin || op == OpCode::kMax;
  if (delegate != DelegateKind::kXnnpack || !chooses || node.output(0).dtype != DType::kF16 ||
      HasHalfArithmetic())
    return nullptr;
  return "XNNPACK's scalar Min and Max of f16 keep a NaN of one side alone";
#endif
}

/// Operators whose zeros have the reference's sign (docs/numerics.md).
bool KeepsSignOfZero(OpCode op, DelegateKind delegate) {
  return delegate == DelegateKind::kXnnpack &&
         (op == OpCode::kAbs || op == OpCode::kNeg || op == OpCode::kSqrt);
}

}  // namespace

std::string Compare(Node& node, const Node::Outcome& fast, const Node::Outcome& reference,
                    ModelState& terms_state, DelegateKind delegate, bool exact) {
  if (!fast.damage.empty()) return fast.damage;
  if (SameElements(fast, reference)) return "";
  const OpCode op = node.description().op;
  // Who computes in f64 wants the numbers.
  const DType dtype = node.output(0).dtype;
  const Rounding rounding = IsFloat(dtype) && dtype != DType::kF64 ? RoundingOf(op, delegate) : Rounding();
  const bool loses_nan = WhyNanIsLost(node, delegate) != nullptr;
  for (size_t output = 0; output < reference.outputs.size(); ++output) {
    const std::vector<double>& expected = reference.outputs[output];
    std::vector<double> allowed = output == 0 || rounding.rule == RoundingRule::kState
                                      ? Allowed(node, rounding, expected, terms_state)
                                      : std::vector<double>(expected.size(), 0.0);
    const bool by_tiles = op == OpCode::kConv2d && !exact && IsFloat(node.output(0).dtype);
    if (by_tiles) {
      for (double& value : allowed) value = std::isnan(value) ? HUGE_VAL : value;
      allowed = AllowedByWinograd(node.output(0).shape, node.description().attrs.as<Conv2dAttrs>().dilations,
                                  allowed);
    }
    const bool by_strassen = (op == OpCode::kFullyConnected || op == OpCode::kMatMul) && !exact &&
                             dtype == DType::kF32 && node.input(0).shape.last() >= kStrassenLeast &&
                             node.output(0).shape.last() >= kStrassenLeast;
    for (double& value : allowed) value *= by_strassen ? kStrassenFactor : 1;
    if (node.output(output).quantization != nullptr)
      allowed.assign(expected.size(), static_cast<double>(CodesApart(op, delegate)));
    for (size_t i = 0; i < expected.size(); ++i) {
      const double got = fast.outputs[output][i];
      // An infinity or NaN reaches all outputs of its tile.
      if (by_tiles && allowed[i] == HUGE_VAL && std::isfinite(expected[i])) continue;
      const bool near = std::isfinite(expected[i]) && std::fabs(got - expected[i]) <= allowed[i];
      if (loses_nan && std::isnan(expected[i])) continue;
      const bool other_zero = expected[i] == 0 && got == 0 &&
                              std::signbit(expected[i]) != std::signbit(got) && KeepsSignOfZero(op, delegate);
      if (std::isnan(expected[i]) ? std::isnan(got) : ((got == expected[i] || near) && !other_zero)) continue;
      char text[200];
      std::snprintf(text, sizeof(text),
                    "output %zu, element %zu of %zu: expected %.9g, got %.9g, allowed difference %.3g",
                    output, i, expected.size(), expected[i], got, allowed[i]);
      return text;
    }
  }
  return "";
}

}  // namespace skiff::testing
