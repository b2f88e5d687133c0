#include "cli/quantize_report.h"

#include <fmt/format.h>

#include <map>

#include "cli/table.h"

namespace skiff::cli {

std::string QuantizeText(const QuantizeResult& result, const QuantizedSizes& sizes,
                         const std::string& measure) {
  std::map<Format, int> counts;
  std::map<std::string, std::vector<std::string>> floats;
  for (const QuantizedLayer& layer : result.layers) {
    ++counts[layer.format];
    if (!layer.why_float.empty()) floats[layer.why_float].push_back(layer.name);
  }
  std::string text = "layers: ";
  for (const auto& [format, count] : counts)
    text += fmt::format("{}{} {}", text.size() > 8 ? ", " : "", count, FormatName(format));
  text += '\n';
  for (const auto& [why, names] : floats)
    text += fmt::format("float:  {} ({})\n", fmt::join(names, ", "), why);
  if (result.error) text += fmt::format("error:  {:.3g} ({}) of the outputs\n", *result.error, measure);
  text += fmt::format("bytes:  {} as floats, {} now ({:.1f} times smaller)\n\n", Grouped(sizes.before),
                      Grouped(sizes.behind),
                      static_cast<double>(sizes.before) / static_cast<double>(sizes.behind));
  return text;
}

Json QuantizeJson(const QuantizeResult& result, const QuantizedSizes& sizes, const std::string& measure) {
  Json json = {{"bytes_before", sizes.before}, {"bytes", sizes.behind}, {"layers", Json::array()}};
  if (result.error) {
    json["measure"] = measure;
    json["error"] = *result.error;
  }
  for (const QuantizedLayer& layer : result.layers) {
    Json row = {{"name", layer.name}, {"op", layer.op}, {"format", FormatName(layer.format)}};
    if (!layer.why_float.empty()) row["why_float"] = layer.why_float;
    json["layers"].push_back(std::move(row));
  }
  json["notes"] = result.notes;
  return json;
}

}  // namespace skiff::cli
