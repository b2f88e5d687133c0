#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/counted.h"
#include "graph/must.h"
#include "run/sizes.h"

namespace skiff::cli {
namespace {

constexpr size_t kFirstValues = 6;
constexpr size_t kTopOfLabels = 5;
constexpr int64_t kFirstRows = 8;

bool IsReal(const TensorData& tensor) { return IsFloat(tensor.dtype()) || tensor.quantization() != nullptr; }

/// Of 64 bits, of which a double does not hold all: `use` gets the integer. False for other tensors.
template <class Use>
bool WithLongInteger(const TensorData& tensor, size_t i, const Use& use) {
  if (IsReal(tensor) || DTypeSize(tensor.dtype()) != 8) return false;
  if (tensor.dtype() == DType::kI64) use(tensor.as<int64_t>()[i]);
  if (tensor.dtype() == DType::kU64) use(tensor.as<uint64_t>()[i]);
  return true;
}

/// Where doubles do not tell them apart.
bool IsBelow(const TensorData& tensor, size_t a, size_t b) {
  bool below = false;
  WithLongInteger(tensor, a, [&](auto left) {
    WithLongInteger(tensor, b, [&](auto right) { below = std::cmp_less(left, right); });
  });
  return below;
}

std::string ValueText(const TensorData& tensor, double value) {
  return IsReal(tensor) ? fmt::format("{:.6g}", value) : fmt::format("{}", value);
}

/// JSON has no NaN and no infinities.
Json ValueJson(const TensorData& tensor, double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  return IsReal(tensor) ? Json(value) : Json(static_cast<int64_t>(value));
}

std::string ElementText(const TensorData& tensor, const Element& element) {
  std::string text = ValueText(tensor, element.value);
  WithLongInteger(tensor, element.at, [&](auto value) { text = fmt::format("{}", value); });
  return text;
}

Json ElementJson(const TensorData& tensor, const Element& element) {
  Json json;
  const bool is_long = WithLongInteger(tensor, element.at, [&](auto value) { json = value; });
  return is_long ? json : ValueJson(tensor, element.value);
}

/// Rows of scores: along the first axis, none but that and the classes' being longer than 1; 0 for another
/// output.
int64_t RowsOfScores(const PortInfo& port, const TensorData& tensor, bool asked) {
  const int64_t classes = ClassesOf(tensor.shape());
  // A scalar has no classes, and no labels are no names of them.
  const bool labelled = !port.labels.empty() && static_cast<int64_t>(port.labels.size()) == classes;
  if (tensor.elements() == 0 || !(labelled || (asked && classes > 1))) return 0;
  const int64_t rows = tensor.elements() / classes;
  return rows == 1 || rows == tensor.shape()[0] ? rows : 0;
}

std::vector<ClassScore> BestOf(const OutputSummary& output, int64_t row) {
  std::vector<ClassScore> best(output.top);
  best.resize(Must([&] {
    return BestClasses(*output.port, output.tensor->view(), {best.data(), best.size()}, ScoreKind::kAsTheyAre,
                       row);
  }));
  return best;
}

}  // namespace

OutputSummary Summarise(const PortInfo& port, const TensorData& tensor, std::optional<size_t> top,
                        const std::string& file) {
  OutputSummary summary{&port, &tensor, file};
  // In pieces: all elements as doubles may take eight times the tensor.
  constexpr int64_t kPiece = 1 << 16;
  double sum = 0;
  for (int64_t begin = 0; begin < tensor.elements(); begin += kPiece) {
    const std::vector<double> values = tensor.ToDoubles(begin, std::min(begin + kPiece, tensor.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const Element element{values[i], static_cast<size_t>(begin) + i};
      if (element.at < kFirstValues) summary.first.push_back(element);
      if (!std::isfinite(element.value)) ++summary.not_finite;
      sum += element.value;
      // Wherever it stands, NaN is neither.
      const auto takes = [&](const Element& best, bool below) {
        return std::isnan(best.value) || below || element.at == 0;
      };
      if (std::isnan(element.value) && element.at > 0) continue;
      const Element& min = summary.min;
      const Element& max = summary.max;
      const bool tie_below = element.value == min.value && IsBelow(tensor, element.at, min.at);
      const bool tie_above = element.value == max.value && IsBelow(tensor, max.at, element.at);
      if (takes(min, element.value < min.value || tie_below)) summary.min = element;
      if (takes(max, element.value > max.value || tie_above)) summary.max = element;
    }
  }
  summary.mean = sum / static_cast<double>(tensor.elements());
  summary.rows = RowsOfScores(port, tensor, top.has_value());
  summary.top = top.value_or(kTopOfLabels);
  return summary;
}

std::string OutputText(const OutputSummary& output) {
  const TensorData& tensor = *output.tensor;
  std::string text =
      fmt::format("output '{}': {} {}{}", output.port->name, DTypeName(tensor.dtype()),
                  ShapeText(tensor.shape()).c_str(), ShortQuantizationText(tensor.quantization().get()));
  if (tensor.elements() > 0) {
    text += fmt::format(", min {}, max {}, mean {:.6g}", ElementText(tensor, output.min),
                        ElementText(tensor, output.max), output.mean);
  }
  if (output.not_finite > 0) text += fmt::format(", {} not finite", output.not_finite);
  text += "\n  first values:";
  for (const Element& element : output.first) text += " " + ElementText(tensor, element);
  text += static_cast<size_t>(tensor.elements()) > kFirstValues ? " ...\n" : "\n";
  for (int64_t row = 0; row < std::min(output.rows, kFirstRows); ++row) {
    if (output.rows > 1) text += fmt::format("  row {}:\n", row);
    const std::vector<ClassScore> best = BestOf(output, row);
    for (size_t i = 0; i < best.size(); ++i) {
      const ClassScore& one = best[i];
      const std::string score = ValueText(tensor, one.score);
      text += *one.label == '\0'
                  ? fmt::format("  {}. class {}  (score {})\n", i + 1, one.index, score)
                  : fmt::format("  {}. {}  (score {}, class {})\n", i + 1, one.label, score, one.index);
    }
  }
  if (output.rows > kFirstRows)
    text += fmt::format("  ... and {} (--json has all)\n",
                        Counted(static_cast<uint64_t>(output.rows - kFirstRows), "more row"));
  return text;
}

Json OutputJson(const OutputSummary& output) {
  const TensorData& tensor = *output.tensor;
  Json json = {{"name", output.port->name},
               {"dtype", DTypeName(tensor.dtype())},
               {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
               {"elements", tensor.elements()},
               {"not_finite", output.not_finite}};
  if (tensor.elements() > 0) {
    json["min"] = ElementJson(tensor, output.min);
    json["max"] = ElementJson(tensor, output.max);
    json["mean"] = std::isfinite(output.mean) ? Json(output.mean) : Json(fmt::format("{}", output.mean));
  }
  json["first_values"] = Json::array();
  for (const Element& element : output.first) json["first_values"].push_back(ElementJson(tensor, element));
  for (int64_t row = 0; row < output.rows; ++row) {
    for (const ClassScore& one : BestOf(output, row)) {
      json["top"].push_back({{"class", one.index}, {"score", ValueJson(tensor, one.score)}});
      if (*one.label != '\0') json["top"].back()["label"] = one.label;
      if (output.rows > 1) json["top"].back()["row"] = row;
    }
  }
  if (!output.file.empty()) json["file"] = output.file;
  return json;
}

}  // namespace skiff::cli
