#include "parity/rounding.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ops/build_ops.h"

namespace skiff {
namespace {

struct Row {
  OpCode op;
  Rounding rounding;
};

constexpr Row kRows[] = {
#define ROUNDING(Name, Rule, c) {OpCode::k##Name, {RoundingRule::k##Rule, c}},
#include "parity/rounding.def"
};

constexpr Row kShaderRows[] = {
#define SHADER_ROUNDING(Name, Rule, c) {OpCode::k##Name, {RoundingRule::k##Rule, c}},
#include "parity/rounding.def"
};

const Row* Find(std::span<const Row> rows, OpCode op) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.op == op; });
  return found == rows.end() ? nullptr : &*found;
}

double LargestOf(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::fmax(largest, std::fabs(value));
  }
  return largest;
}

std::vector<double> LayerNormTerms(const NodeNumbers& node) {
  const Numbers& x = node.inputs[0];
  const auto& attrs = node.attrs->as<NormAttrs>();
  const int rank = x.shape.rank();
  const int axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis);
  const auto length = static_cast<size_t>(x.shape.ElementsBetween(axis, rank));
  const auto other = [&](size_t input, size_t i, double without) {
    return input < node.inputs.size() && !node.inputs[input].values.empty() ? node.inputs[input].values[i]
                                                                            : without;
  };
  std::vector<double> terms(x.values.size());
  for (size_t row = 0; row < terms.size(); row += length) {
    const std::span<const double> values = x.values.subspan(row, length);
    double mean = 0;
    double variance = 0;
    for (const double value : values) mean += value / static_cast<double>(length);
    for (const double value : values)
      variance += (value - mean) * (value - mean) / static_cast<double>(length);
    const double factor = LargestOf(values) / std::sqrt(variance + static_cast<double>(attrs.epsilon));
    for (size_t i = 0; i < length; ++i)
      terms[row + i] = 2 * factor * std::fabs(other(1, i, 1)) + std::fabs(other(2, i, 0));
  }
  return terms;
}

/// What is rounded, for each element of the output.
std::vector<double> TermsOf(const NodeNumbers& node, RoundingRule rule) {
  const size_t count = node.output.values.size();
  switch (rule) {
    case RoundingRule::kExact:
      return std::vector<double>(count, 0.0);
    case RoundingRule::kUlp: {
      // One unit in the last place is at most twice eps of the value.
      std::vector<double> terms(node.output.values.begin(), node.output.values.end());
      for (double& term : terms) term *= 2;
      return terms;
    }
    case RoundingRule::kInput:
      return {node.inputs[0].values.begin(), node.inputs[0].values.end()};
    case RoundingRule::kTerms:
      return node.absolute_terms();
    case RoundingRule::kLayerNorm:
      return LayerNormTerms(node);
    case RoundingRule::kLargest:
      return std::vector<double>(count, LargestOf(node.inputs[0].values) + LargestOf(node.output.values));
    case RoundingRule::kFactors: {
      std::vector<double> terms(node.output.values.begin(), node.output.values.end());
      for (double& term : terms)
        term *= static_cast<double>(node.inputs[0].values.size()) / static_cast<double>(count);
      return terms;
    }
    case RoundingRule::kState:
      return std::vector<double>(count, std::fmax(1.0, LargestOf(node.output.values)));
    case RoundingRule::kResize: {
      if (node.attrs->as<ResizeAttrs>().mode == ResizeMode::kNearest) return std::vector<double>(count, 0.0);
      const Shape& shape = node.inputs[0].shape;
      return std::vector<double>(
          count, static_cast<double>(4 + shape[1] + shape[2]) * LargestOf(node.inputs[0].values));
    }
  }
  return {};
}

/// Calls visit(upper, limit) for both limits of a fused activation.
template <class Attrs, class Visit>
void VisitLimits(OpCode op, Attrs& attrs, const Visit& visit) {
  VisitAttrs(op, attrs, [&](int, const char* name, auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, float>) {
      if (std::string_view(name) == "min") visit(false, field);
      if (std::string_view(name) == "max") visit(true, field);
    }
  });
}

}  // namespace

Rounding RoundingOf(OpCode op, DelegateKind delegate) {
  const Row* row = delegate == DelegateKind::kVulkan ? Find(kShaderRows, op) : nullptr;
  if (row == nullptr) row = Find(kRows, op);
  return row == nullptr ? Rounding() : row->rounding;
}

double RoundingUnit(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-11 : dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
}

std::vector<double> AllowedRounding(const NodeNumbers& node, const Rounding& rounding) {
  std::vector<double> allowed = TermsOf(node, rounding.rule);
  const double unit = rounding.c * RoundingUnit(node.dtype);
  for (double& value : allowed) value = unit * std::fabs(value);
  return allowed;
}

double AbsoluteTerm(OpCode op, size_t input, double value) {
  // Where these read is no term.
  if ((op == OpCode::kGridSample2d || op == OpCode::kRoiAlign) && input == 1) return value;
  constexpr size_t kMean = 3;
  // BatchNorm subtracts its mean: as a term it is added.
  return op == OpCode::kBatchNorm && input == kMean ? -std::fabs(value) : std::fabs(value);
}

std::pair<double, double> LimitsOf(OpCode op, const AttrStorage& attrs) {
  std::pair<double, double> limits{-kInfinity, kInfinity};
  VisitLimits(op, attrs, [&](bool upper, float limit) { (upper ? limits.second : limits.first) = limit; });
  return limits;
}

AttrStorage WithoutClamp(OpCode op, const AttrStorage& attrs) {
  AttrStorage without = attrs;
  VisitLimits(op, without, [](bool upper, float& limit) { limit = upper ? kInfinity : -kInfinity; });
  return without;
}

/// F(4, 3) multiplies an error by up to eight times what a sum does (measured: 4.5 times, over a million
/// outputs).
std::vector<double> AllowedByWinograd(const Shape& shape, const Ints& dilations,
                                      const std::vector<double>& allowed) {
  constexpr int64_t kTileReach = 3;
  constexpr double kGrowth = 8;
  // Along one axis after the other: the largest of a square.
  const auto spread = [&](const std::vector<double>& from, int64_t extent, int64_t stride, int64_t step) {
    std::vector<double> to(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      const int64_t at = place / stride % extent;
      for (int64_t away = -kTileReach; away <= kTileReach; ++away) {
        const int64_t other = at + away * step;
        if (other >= 0 && other < extent)
          to[i] = std::max(to[i], from[static_cast<size_t>(place + (other - at) * stride)]);
      }
    }
    return to;
  };
  std::vector<double> tiles =
      spread(spread(allowed, shape[2], shape[3], dilations[1]), shape[1], shape[2] * shape[3], dilations[0]);
  for (double& value : tiles) value *= kGrowth;
  return tiles;
}

}  // namespace skiff
