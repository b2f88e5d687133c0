#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/counted.h"
#include "graph/must.h"
#include "run/sizes.h"

namespace skiff::cli {
namespace {

constexpr size_t kFirstValues = 6;
constexpr size_t kTopOfLabels = 5;
constexpr size_t kFirstRows = 8;

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

/// Rows of scores: along the first axis, none but that and the classes' being longer than 1; 0 for another
/// output.
int64_t RowsOfScores(const PortInfo& port, const TensorData& tensor, bool asked) {
  const int64_t classes = ClassesOf(tensor.shape());
  const bool labelled = static_cast<int64_t>(port.labels.size()) == classes;
  if (tensor.elements() == 0 || !(labelled || (asked && classes > 1))) return 0;
  const int64_t rows = tensor.elements() / classes;
  return rows == 1 || rows == tensor.shape()[0] ? rows : 0;
}

}  // namespace

OutputSummary Summarise(const PortInfo& port, const TensorData& tensor, std::optional<size_t> top,
                        const std::string& file) {
  OutputSummary summary{&port, &tensor, file, tensor.ToDoubles(), 0, {}};
  summary.not_finite = static_cast<size_t>(std::count_if(summary.values.begin(), summary.values.end(),
                                                         [](double value) { return !std::isfinite(value); }));
  const int64_t rows = RowsOfScores(port, tensor, top.has_value());
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<ClassScore>& best = summary.best.emplace_back(top.value_or(kTopOfLabels));
    best.resize(Must([&] {
      return BestClasses(port, tensor.view(), {best.data(), best.size()}, ScoreKind::kAsTheyAre, row);
    }));
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
  for (size_t row = 0; row < std::min(output.best.size(), kFirstRows); ++row) {
    if (output.best.size() > 1) text += fmt::format("  row {}:\n", row);
    for (size_t i = 0; i < output.best[row].size(); ++i) {
      const ClassScore& one = output.best[row][i];
      const std::string score = ValueText(tensor, one.score);
      text += *one.label == '\0'
                  ? fmt::format("  {}. class {}  (score {})\n", i + 1, one.index, score)
                  : fmt::format("  {}. {}  (score {}, class {})\n", i + 1, one.label, score, one.index);
    }
  }
  if (output.best.size() > kFirstRows)
    text +=
        fmt::format("  ... and {} (--json has all)\n", Counted(output.best.size() - kFirstRows, "more row"));
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
  for (size_t row = 0; row < output.best.size(); ++row) {
    for (const ClassScore& one : output.best[row]) {
      json["top"].push_back({{"class", one.index}, {"score", ValueJson(tensor, one.score)}});
      if (*one.label != '\0') json["top"].back()["label"] = one.label;
      if (output.best.size() > 1) json["top"].back()["row"] = row;
    }
  }
  if (!output.file.empty()) json["file"] = output.file;
  return json;
}

}  // namespace skiff::cli
