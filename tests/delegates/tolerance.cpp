#include "tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/support/operators.h"

namespace skiff::testing {
namespace {

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
    // Of codes only weights are terms of f32 results: integers without a zero point.
    if (argument.absent || (!IsFloat(argument.dtype) && argument.quantization == nullptr)) continue;
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
  return Node(absolute).Run(state, {}).outputs[0];
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
std::vector<double> Allowed(Node& node, const Tolerance& tolerance, const std::vector<double>& reference,
                            ModelState& terms_state) {
  const DType dtype = node.output(0).dtype;
  const double unit = tolerance.c * Epsilon(dtype);
  std::vector<double> allowed(reference.size(), 0.0);
  std::vector<double> terms;
  switch (tolerance.rule) {
    case Rule::kExact:
      for (size_t i = 0; i < allowed.size(); ++i) {
        const double magnitude = std::fabs(reference[i]);
        if (magnitude < SmallestNormal(dtype)) allowed[i] = magnitude;
      }
      return allowed;
    case Rule::kUlp:
      // One unit in the last place is at most twice eps of the value.
      for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = 2 * unit * std::fabs(reference[i]);
      break;
    case Rule::kInput:
      terms = ElementsOf(node.input(0));
      break;
    case Rule::kTerms:
      terms = AbsoluteTerms(node, terms_state);
      break;
    case Rule::kLayerNorm:
      terms = LayerNormTerms(node);
      break;
    case Rule::kLargest: {
      double largest = 0;
      for (double value : ElementsOf(node.input(0))) {
        if (std::isfinite(value)) largest = std::fmax(largest, std::fabs(value));
      }
      terms.assign(allowed.size(), largest);
      break;
    }
    case Rule::kState:
      terms.assign(allowed.size(), 1.0);
      break;
    case Rule::kResize: {
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

/// A tile of 4 x 4 outputs is computed as one: each gets its share of the rounding of all. F(4, 3) multiplies
/// an error by up to eight times what a sum does (measured: 4.5 times, over a million outputs).
constexpr int64_t kTileReach = 3;
constexpr double kWinogradGrowth = 8;

std::vector<double> AllowedByWinograd(const Node& node, const std::vector<double>& allowed) {
  const Shape& shape = node.output(0).shape;  // NHWC.
  std::vector<double> spread(allowed.size());
  for (size_t i = 0; i < allowed.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    const int64_t column = place / shape[3] % shape[2];
    const int64_t row = place / shape[3] / shape[2] % shape[1];
    for (int64_t r = std::max<int64_t>(row - kTileReach, 0); r <= std::min(row + kTileReach, shape[1] - 1);
         ++r) {
      for (int64_t c = std::max<int64_t>(column - kTileReach, 0);
           c <= std::min(column + kTileReach, shape[2] - 1); ++c) {
        const auto neighbour = static_cast<size_t>(place + ((r - row) * shape[2] + c - column) * shape[3]);
        spread[i] = std::max(spread[i], kWinogradGrowth * allowed[neighbour]);
      }
    }
  }
  return spread;
}

}  // namespace

std::string Compare(Node& node, const Node::Outcome& fast, const Node::Outcome& reference,
                    ModelState& terms_state, DelegateKind delegate, bool exact) {
  if (!fast.damage.empty()) return fast.damage;
  if (SameElements(fast, reference)) return "";
  const OpCode op = node.description().op;
  const Tolerance tolerance = IsFloat(node.output(0).dtype) ? ToleranceOf(op, delegate) : Tolerance();
  for (size_t output = 0; output < reference.outputs.size(); ++output) {
    const std::vector<double>& expected = reference.outputs[output];
    std::vector<double> allowed = output == 0 || tolerance.rule == Rule::kState
                                      ? Allowed(node, tolerance, expected, terms_state)
                                      : std::vector<double>(expected.size(), 0.0);
    if (op == OpCode::kConv2d && !exact && IsFloat(node.output(0).dtype))
      allowed = AllowedByWinograd(node, allowed);
    if (node.output(output).quantization != nullptr)
      allowed.assign(expected.size(), static_cast<double>(CodesApart(op, delegate)));
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
