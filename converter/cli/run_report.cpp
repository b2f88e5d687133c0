#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/must.h"
#include "run/sizes.h"

namespace skiff::cli {
namespace {

constexpr size_t kFirstValues = 6;
constexpr size_t kTopOfLabels = 5;

bool IsReal(const TensorData& tensor) { return IsFloat(tensor.dtype()) || tensor.quantization() != nullptr; }

std::string ValueText(const TensorData& tensor, double value) {
  return IsReal(tensor) ? fmt::format("{:.6g}", value) : fmt::format("{}", value);
}

/// JSON has no NaN and no infinities.
Json ValueJson(const TensorData& tensor, double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  return IsReal(tensor) ? Json(value) : Json(static_cast<int64_t>(value));
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool HasScores(const PortInfo& port, const TensorData& tensor, bool asked) {
  if (tensor.elements() == 0 || tensor.shape().rank() == 0) return false;
  if (static_cast<int64_t>(port.labels.size()) == tensor.elements()) return true;
  return asked && tensor.elements() > 1 && tensor.shape().last() == tensor.elements();
}

}  // namespace

OutputSummary Summarise(const PortInfo& port, const TensorData& tensor, std::optional<size_t> top,
                        const std::string& file) {
  OutputSummary summary{&port, &tensor, file, tensor.ToDoubles(), 0, {}};
  summary.not_finite = static_cast<size_t>(std::count_if(summary.values.begin(), summary.values.end(),
                                                         [](double value) { return !std::isfinite(value); }));
  if (HasScores(port, tensor, top.has_value())) {
    summary.best.resize(std::min(top.value_or(kTopOfLabels), summary.values.size()));
    Must([&] { return BestClasses(port, tensor.view(), {summary.best.data(), summary.best.size()}); });
  }
  return summary;
}

std::string OutputText(const OutputSummary& output) {
  const TensorData& tensor = *output.tensor;
  const std::vector<double>& values = output.values;
  std::string text =
      fmt::format("output '{}': {} {}{}", output.port->name, DTypeName(tensor.dtype()),
                  ShapeText(tensor.shape()).c_str(), ShortQuantizationText(tensor.quantization().get()));
  if (!values.empty()) {
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    text += fmt::format(", min {}, max {}, mean {:.6g}", ValueText(tensor, *min), ValueText(tensor, *max),
                        MeanOf(values));
  }
  if (output.not_finite > 0) text += fmt::format(", {} not finite", output.not_finite);
  text += "\n  first values:";
  for (size_t i = 0; i < std::min(values.size(), kFirstValues); ++i)
    text += " " + ValueText(tensor, values[i]);
  text += values.size() > kFirstValues ? " ...\n" : "\n";
  for (size_t i = 0; i < output.best.size(); ++i) {
    const ClassScore& one = output.best[i];
    const std::string score = ValueText(tensor, one.score);
    text += *one.label == '\0'
                ? fmt::format("  {}. class {}  (score {})\n", i + 1, one.index, score)
                : fmt::format("  {}. {}  (score {}, class {})\n", i + 1, one.label, score, one.index);
  }
  return text;
}

Json OutputJson(const OutputSummary& output) {
  const TensorData& tensor = *output.tensor;
  const std::vector<double>& values = output.values;
  Json json = {{"name", output.port->name},
               {"dtype", DTypeName(tensor.dtype())},
               {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
               {"elements", values.size()},
               {"not_finite", output.not_finite}};
  if (!values.empty()) {
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    json["min"] = ValueJson(tensor, *min);
    json["max"] = ValueJson(tensor, *max);
    const double mean = MeanOf(values);
    json["mean"] = std::isfinite(mean) ? Json(mean) : Json(fmt::format("{}", mean));
  }
  json["first_values"] = Json::array();
  for (size_t i = 0; i < std::min(values.size(), kFirstValues); ++i)
    json["first_values"].push_back(ValueJson(tensor, values[i]));
  for (const ClassScore& one : output.best) {
    json["top"].push_back({{"class", one.index}, {"score", ValueJson(tensor, one.score)}});
    if (*one.label != '\0') json["top"].back()["label"] = one.label;
  }
  if (!output.file.empty()) json["file"] = output.file;
  return json;
}

}  // namespace skiff::cli
