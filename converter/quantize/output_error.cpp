#include "quantize/output_error.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "skiff/labels.h"

namespace skiff {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// What cannot be heard any more.
constexpr double kMostDecibels = 200;

struct NamedMeasure {
  ErrorMeasure measure;
  const char* name;
};
constexpr NamedMeasure kMeasures[] = {
    {ErrorMeasure::kLargest, "largest"},
    {ErrorMeasure::kRms, "rms"},
    {ErrorMeasure::kCosine, "cosine"},
    {ErrorMeasure::kTop1, "top1"},
};

bool IsReal(const TensorData& tensor) {
  return tensor.quantization() || tensor.dtype() == DType::kF32 || tensor.dtype() == DType::kF16 ||
         tensor.dtype() == DType::kF64;
}

}  // namespace

const char* MeasureName(ErrorMeasure measure) {
  return std::find_if(std::begin(kMeasures), std::end(kMeasures),
                      [&](const NamedMeasure& named) { return named.measure == measure; })
      ->name;
}

std::optional<ErrorMeasure> MeasureFromName(std::string_view name) {
  for (const NamedMeasure& named : kMeasures) {
    if (name == named.name) return named.measure;
  }
  return {};
}

void OutputError::Add(const TensorData& expected, const TensorData& got, Sums& sums) {
  const std::vector<double> want = expected.ToDoubles();
  const std::vector<double> have = got.ToDoubles();
  sums.integers = !IsReal(expected);
  if (want.size() != have.size()) {  // Another count of what was found.
    sums.not_finite = true;
    return;
  }
  sums.elements += static_cast<double>(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] != have[i]) sums.differ += 1;
    if (!std::isfinite(want[i]) || !std::isfinite(have[i])) {
      sums.not_finite |= want[i] != have[i] && !(std::isnan(want[i]) && std::isnan(have[i]));
      continue;
    }
    const double difference = std::abs(want[i] - have[i]);
    sums.largest = std::max(sums.largest, std::abs(want[i]));
    sums.largest_difference = std::max(sums.largest_difference, difference);
    sums.expected += want[i] * want[i];
    sums.got += have[i] * have[i];
    sums.product += want[i] * have[i];
    sums.difference += difference * difference;
  }
  const auto row = static_cast<std::ptrdiff_t>(ClassesOf(expected.shape()));
  for (std::ptrdiff_t at = 0; row > 0 && at < static_cast<std::ptrdiff_t>(want.size()); at += row) {
    const auto top = [&](const std::vector<double>& of) {
      return std::max_element(of.begin() + at, of.begin() + at + row) - of.begin();
    };
    sums.rows += 1;
    if (top(want) != top(have)) sums.other_top += 1;
  }
}

double OutputError::Error(const Sums& sums, ErrorMeasure measure) {
  const auto share = [](double part, double whole) {
    return part == 0 ? 0 : whole > 0 ? part / whole : kInfinite;
  };
  if (sums.not_finite) return kInfinite;
  if (sums.integers) return share(sums.differ, sums.elements);
  if (sums.difference == 0) return 0;
  switch (measure) {
    case ErrorMeasure::kLargest:
      return share(sums.largest_difference, sums.largest);
    case ErrorMeasure::kRms:
      return std::sqrt(share(sums.difference, sums.expected));
    case ErrorMeasure::kCosine: {
      const double norms = std::sqrt(sums.expected) * std::sqrt(sums.got);
      if (norms == 0) return sums.expected == sums.got ? 0 : 1;
      return std::max(0.0, 1 - sums.product / norms);
    }
    case ErrorMeasure::kTop1:
      return share(sums.other_top, sums.rows);
  }
  return kInfinite;
}

void OutputError::Add(const NamedTensors& expected, const NamedTensors& got) {
  for (const auto& [name, tensor] : expected) Add(tensor, got.at(name), sums_[name]);
}

double OutputError::Of(const std::string& output, ErrorMeasure measure) const {
  return Error(sums_.at(output), measure);
}

double OutputError::Of(ErrorMeasure measure) const {
  double worst = 0;
  for (const auto& [name, sums] : sums_) worst = std::max(worst, Error(sums, measure));
  return worst;
}

double OutputError::SignalToNoise(const std::string& output) const {
  const Sums& sums = sums_.at(output);
  if (sums.difference == 0) return kMostDecibels;
  if (sums.expected == 0) return -kMostDecibels;
  return std::clamp(10 * std::log10(sums.expected / sums.difference), -kMostDecibels, kMostDecibels);
}

}  // namespace skiff
