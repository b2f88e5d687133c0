#include "parity/judge.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace skiff {
namespace {

/// Of the largest element, in f32: sixteen units in the last place are believed to be rounding without
/// looking.
constexpr double kUndoubted = 1e-6;
/// Measured movements are typical ones; a kernel's may be so much larger.
constexpr double kMargin = 4;
/// Two units in the last place of the element itself; below the smallest normal number XNNPACK flushes to
/// zero.
constexpr double kOwn = 0x1p-22;
constexpr double kFlushed = 0x1p-126;
/// Of what rounding costs, from one layer to the next, that is worth a word.
constexpr double kMuchGrowth = 8;

}  // namespace

TensorParity Judge::Compare(const std::string& name, const std::string& op, const TensorData& expected,
                            const TensorData& got) const {
  const DType dtype = expected.dtype();
  const Tolerance usual = DefaultTolerance(dtype, eager_.takes_part);
  // Integers are compared exactly, but for those of quantised nets.
  const bool exact = usual.atol == 0 && usual.rtol == 0 && usual.of_largest == 0;
  const Tolerance tolerance = options_.tolerance && (IsFloat(dtype) || !exact) ? *options_.tolerance : usual;
  return {name, op, dtype, expected.shape(), tolerance, skiff::Compare(expected, got, tolerance)};
}

/// Codes that are next to half way are no matter of a smooth function, and NaN is none of rounding.
bool Judge::MayMeasure(const TensorParity& row) const {
  return !options_.tolerance && !eager_.takes_part.quantized && row.comparison.problem.empty() &&
         std::isfinite(row.comparison.max_error);
}

const Sensitivity& Judge::SensitivityOf(DelegateKind delegate) {
  if (const auto found = sensitivities_.find(delegate); found != sensitivities_.end()) return found->second;
  if (options_.progress) options_.progress("what rounding costs");
  std::map<std::string, const TensorData*> layers;
  for (const EagerTensor& layer : eager_.layers) layers[layer.name] = &layer.tensor;
  return sensitivities_
      .emplace(delegate, MeasureSensitivity(source_, inputs_, eager_.outputs, {delegate, &layers}))
      .first->second;
}

void Judge::Measure(TensorParity& row, const TensorData& expected, const TensorData& got,
                    DelegateKind delegate) {
  const Sensitivity& measured = SensitivityOf(delegate);
  const auto& movements = row.op.empty() ? measured.outputs : measured.layers;
  const auto found = movements.find(row.name);
  if (found == movements.end() || found->second.size() != static_cast<size_t>(expected.elements())) return;
  const std::vector<double> elements = expected.ToDoubles();
  Movement allowed = found->second;
  for (size_t i = 0; i < allowed.size(); ++i) {
    const bool rounds = IsFloat(expected.dtype()) && std::isfinite(elements[i]);
    const double own = rounds ? kOwn * std::abs(elements[i]) + kFlushed : 0;
    allowed[i] = kMargin * allowed[i] + own;
  }
  row.comparison = CompareWithin(expected, got, allowed);
  row.measured = true;
}

std::optional<Amplifier> Judge::FindAmplifier(DelegateKind delegate) const {
  const auto measured = sensitivities_.find(delegate);
  if (measured == sensitivities_.end()) return std::nullopt;
  std::map<std::string, std::pair<const EagerTensor*, double>> costs;  // Of the layer's largest element.
  for (const EagerTensor& layer : eager_.layers) {
    const auto found = measured->second.layers.find(layer.name);
    const double largest = LargestFinite(layer.tensor.ToDoubles());
    if (found == measured->second.layers.end() || found->second.empty() || !(largest > 0)) continue;
    costs[layer.name] = {&layer, LargestFinite(found->second) / largest};
  }
  // A node of the source may have become several: what lies between layers costs what its inputs do.
  std::vector<double> cost(static_cast<size_t>(source_.value_count()), 0.0);
  std::optional<Amplifier> worst;
  double growth = kMuchGrowth;
  for (const NodeId id : source_.TopologicalOrder()) {
    const Node& node = source_.node(id);
    double before = 0;
    for (const ValueId input : node.inputs)
      before = input == kNoValue ? before : std::max(before, cost[static_cast<size_t>(input)]);
    for (const ValueId output : node.outputs) {
      const auto own = costs.find(source_.value(output).source);
      const double behind = own == costs.end() ? before : own->second.second;
      cost[static_cast<size_t>(output)] = behind;
      const double least = std::max(before, kOwn);
      if (own == costs.end() || behind / least <= growth) continue;
      growth = behind / least;
      worst = {own->second.first->name, own->second.first->op, least, behind};
    }
  }
  return worst;
}

TensorParity Judge::AgainstEager(const std::string& name, const std::string& op, const TensorData& eager,
                                 const TensorData& got, DelegateKind delegate) {
  TensorParity row = Compare(name, op, eager, got);
  const bool believed = row.comparison.ok && (row.dtype != DType::kF32 || eager_.takes_part.f16 ||
                                              row.comparison.relative() <= kUndoubted);
  if (!believed && MayMeasure(row)) Measure(row, eager, got, delegate);
  return row;
}

TensorParity Judge::AgainstExpected(const std::string& name, const TensorData& expected,
                                    const TensorData& got, DelegateKind delegate) {
  TensorParity row = Compare(name, "", expected, got);
  if (!row.comparison.ok && MayMeasure(row)) Measure(row, expected, got, delegate);
  return row;
}

}  // namespace skiff
