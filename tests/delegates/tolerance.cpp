#include "tolerance.h"

#include <cmath>
#include <cstdio>

namespace skiff::testing {
namespace {

enum class Kind {
  kExact,      ///< The same value (or a subnormal one flushed to zero), or both NaN.
  kUlp,        ///< `c` units in the last place of the result.
  kInput,      ///< c * eps * |x|: the formula cancels, so that its terms are as large as the input.
  kTerms,      ///< c * eps * sum of absolute terms, from the reference with absolute inputs.
  kLayerNorm,  ///< The same, by hand: the deviations cancel.
  kLargest,    ///< c * eps * max|x|: the largest of a row is subtracted from all.
  kState,   ///< c * eps, of every output: states of about 1, from gates whose rounding fades over the steps.
  kResize,  ///< c * eps * extent * max|x|: the sampling position is rounded in f32.
};

struct Rule {
  OpCode op;
  Kind kind;
  double c;
};

/// Sums of up to 150 terms are rounded at each step: errors add up to about the square root of their number,
/// hence 8. Operators that are not listed move elements, choose among them or round them: exact.
constexpr Rule kRules[] = {
    {OpCode::kExp, Kind::kUlp, 2},
    {OpCode::kLog, Kind::kUlp, 3},
    {OpCode::kSqrt, Kind::kUlp, 1},
    {OpCode::kReciprocal, Kind::kUlp, 1},
    {OpCode::kSigmoid, Kind::kUlp, 4},
    {OpCode::kTanh, Kind::kUlp, 6},
    {OpCode::kErf, Kind::kUlp, 4},
    {OpCode::kSilu, Kind::kUlp, 4},
    {OpCode::kSin, Kind::kUlp, 1},
    {OpCode::kCos, Kind::kUlp, 1},
    {OpCode::kSoftplus, Kind::kUlp, 4},
    {OpCode::kElu, Kind::kUlp, 3},
    {OpCode::kLeakyRelu, Kind::kUlp, 1},
    {OpCode::kHardSigmoid, Kind::kInput,
     2},  // See the domain of its cases: |x| >= 1, so the terms stay below.
    {OpCode::kHardSwish, Kind::kInput, 4},
    {OpCode::kGelu, Kind::kInput, 4},
    {OpCode::kCast, Kind::kUlp, 0.5},
    {OpCode::kAdd, Kind::kUlp, 0.5},
    {OpCode::kSub, Kind::kUlp, 0.5},
    {OpCode::kMul, Kind::kUlp, 0.5},
    {OpCode::kDiv, Kind::kUlp, 1},
    {OpCode::kPow, Kind::kUlp, 1},
    {OpCode::kPRelu, Kind::kUlp, 0.5},
    {OpCode::kConv2d, Kind::kTerms, 8},
    {OpCode::kConvTranspose2d, Kind::kTerms, 8},
    {OpCode::kAveragePool2d, Kind::kTerms, 8},
    {OpCode::kMatMul, Kind::kTerms, 8},
    {OpCode::kFullyConnected, Kind::kTerms, 8},
    {OpCode::kReduceSum, Kind::kTerms, 8},
    {OpCode::kReduceMean, Kind::kTerms, 8},
    {OpCode::kReduceProd, Kind::kTerms, 16},   // Each rounding is one of the whole product.
    {OpCode::kLogSoftmax, Kind::kLargest, 8},  // Its results are up to 2 max|x| + log(length).
    {OpCode::kBatchNorm, Kind::kTerms, 8},
    {OpCode::kLayerNorm, Kind::kLayerNorm, 4},
    {OpCode::kSoftmax, Kind::kUlp, 16},  // x - max is rounded: as many eps as its size, 18 in the cases.
    {OpCode::kResize2d, Kind::kResize, 2},
    {OpCode::kLstm, Kind::kState, 32},
    {OpCode::kGru, Kind::kState, 32},
    {OpCode::kRnn, Kind::kState, 32},
};

/// Where shaders have a rule of their own.
constexpr Rule kVulkanRules[] = {
    {OpCode::kPow, Kind::kUlp, 16},  // e^(y log x): the exponent, up to 4.2 in the cases, is rounded in f32.
};

Rule RuleOf(OpCode op, DelegateKind delegate) {
  for (const Rule& rule : kVulkanRules) {
    if (delegate == DelegateKind::kVulkan && rule.op == op) return rule;
  }
  for (const Rule& rule : kRules) {
    if (rule.op == op) return rule;
  }
  return {op, Kind::kExact, 0};
}

double Epsilon(DType dtype) { return dtype == DType::kF16 ? 0x1p-11 : 0x1p-24; }
/// XNNPACK flushes subnormal numbers to zero, operands too, and some operators multiply what was flushed by
/// their input: by up to 100 in the f32 cases (SiLU), by 3 in the f16 ones (HardSwish on a CPU that computes
/// in f16).
double Flushed(DType dtype) { return dtype == DType::kF16 ? 0x1p-12 : 0x1p-119; }
double SmallestNormal(DType dtype) { return dtype == DType::kF16 ? 0x1p-14 : 0x1p-126; }

/// The reference's result with the sign of everything removed and no clamp.
std::vector<double> AbsoluteTerms(const Node& node, ModelState& state) {
  Case absolute = node.description();
  absolute.output_row_gap = 0;
  for (size_t i = 0; i < absolute.inputs.size(); ++i) {
    Argument& argument = absolute.inputs[i];
    if (argument.absent || !IsFloat(argument.dtype)) continue;
    argument.row_gap = 0;
    argument.values = ElementsOf(node.input(i));
    for (double& value : argument.values) value = std::fabs(value);
    // BatchNorm subtracts its mean: as a term it is added.
    if (absolute.op == OpCode::kBatchNorm && i == 3) {
      for (double& value : argument.values) value = -value;
    }
  }
  VisitAttrs(absolute.op, absolute.attrs, [](int, const char* name, auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, float>) {
      if (std::string_view(name) == "min") field = -kInfinity;
      if (std::string_view(name) == "max") field = kInfinity;
    }
  });
  return Node(absolute, 0).Run(state, {}).outputs[0];
}

std::vector<double> LayerNormTerms(const Node& node) {
  const TensorView& x = node.input(0);
  const auto& attrs = node.description().attrs.as<NormAttrs>();
  const int rank = x.shape.rank();
  const int axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis);
  const auto length = static_cast<size_t>(x.shape.ElementsBetween(axis, rank));
  const std::vector<double> values = ElementsOf(x);
  std::vector<double> terms(values.size());
  for (size_t row = 0; row < values.size(); row += length) {
    double mean = 0;
    double largest = 0;
    for (size_t i = 0; i < length; ++i) mean += values[row + i] / static_cast<double>(length);
    double variance = 0;
    for (size_t i = 0; i < length; ++i) {
      variance += (values[row + i] - mean) * (values[row + i] - mean) / static_cast<double>(length);
      largest = std::fmax(largest, std::fabs(values[row + i]));
    }
    const double factor = 1 / std::sqrt(variance + static_cast<double>(attrs.epsilon));
    for (size_t i = 0; i < length; ++i) {
      const double scale = node.HasInput(1) ? ElementOf(node.input(1), static_cast<int64_t>(i)) : 1;
      const double bias = node.HasInput(2) ? ElementOf(node.input(2), static_cast<int64_t>(i)) : 0;
      terms[row + i] = 2 * largest * factor * std::fabs(scale) + std::fabs(bias);
    }
  }
  return terms;
}

/// The largest difference that is allowed, for each element of an output.
std::vector<double> Allowed(Node& node, const Rule& rule, const std::vector<double>& reference,
                            ModelState& terms_state) {
  const DType dtype = node.output(0).dtype;
  const double unit = rule.c * Epsilon(dtype);
  std::vector<double> allowed(reference.size(), 0.0);
  std::vector<double> terms;
  switch (rule.kind) {
    case Kind::kExact:
      for (size_t i = 0; i < allowed.size(); ++i) {
        const double magnitude = std::fabs(reference[i]);
        if (magnitude < SmallestNormal(dtype)) allowed[i] = magnitude;
      }
      return allowed;
    case Kind::kUlp:
      // One unit in the last place is at most twice eps of the value.
      for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = 2 * unit * std::fabs(reference[i]);
      break;
    case Kind::kInput:
      terms = ElementsOf(node.input(0));
      break;
    case Kind::kTerms:
      terms = AbsoluteTerms(node, terms_state);
      break;
    case Kind::kLayerNorm:
      terms = LayerNormTerms(node);
      break;
    case Kind::kLargest: {
      double largest = 0;
      for (double value : ElementsOf(node.input(0))) {
        if (std::isfinite(value)) largest = std::fmax(largest, std::fabs(value));
      }
      terms.assign(allowed.size(), largest);
      break;
    }
    case Kind::kState:
      terms.assign(allowed.size(), 1.0);
      break;
    case Kind::kResize: {
      if (node.description().attrs.as<ResizeAttrs>().mode == ResizeMode::kNearest) return allowed;
      double largest = 0;
      for (double value : ElementsOf(node.input(0))) largest = std::fmax(largest, std::fabs(value));
      const Shape& shape = node.input(0).shape;
      terms.assign(allowed.size(), static_cast<double>(4 + shape[1] + shape[2]) * largest);
      break;
    }
  }
  for (size_t i = 0; i < terms.size(); ++i) allowed[i] = unit * std::fabs(terms[i]);
  for (double& value : allowed) value += Flushed(dtype);
  return allowed;
}

}  // namespace

std::string Compare(Node& node, const Node::Outcome& fast, const Node::Outcome& reference,
                    ModelState& terms_state, DelegateKind delegate) {
  if (!fast.damage.empty()) return fast.damage;
  const OpCode op = node.description().op;
  const Rule rule = IsFloat(node.output(0).dtype) ? RuleOf(op, delegate) : Rule{op, Kind::kExact, 0};
  for (size_t output = 0; output < reference.outputs.size(); ++output) {
    const std::vector<double>& expected = reference.outputs[output];
    const std::vector<double> allowed = output == 0 || rule.kind == Kind::kState
                                            ? Allowed(node, rule, expected, terms_state)
                                            : std::vector<double>(expected.size(), 0.0);
    for (size_t i = 0; i < expected.size(); ++i) {
      const double got = fast.outputs[output][i];
      const bool near = std::isfinite(expected[i]) && std::fabs(got - expected[i]) <= allowed[i];
      if (std::isnan(expected[i]) ? std::isnan(got) : (got == expected[i] || near)) continue;
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
