#include "cli/quantize_report.h"

#include <fmt/format.h>

#include <map>

#include "cli/table.h"

namespace skiff::cli {
namespace {

Json HistogramJson(const Histogram& histogram) {
  return {{"low", histogram.low}, {"high", histogram.high}, {"counts", histogram.counts}};
}

Json LayerJson(const QuantizedLayer& layer) {
  Json row = {{"name", layer.name}, {"op", layer.op}, {"format", FormatName(layer.format)}};
  if (!layer.why_float.empty()) row["why_float"] = layer.why_float;
  row["bytes_before"] = layer.bytes_before;
  row["bytes"] = layer.bytes;
  if (layer.signal_to_noise) row["signal_to_noise_db"] = *layer.signal_to_noise;
  if (layer.error_alone) row["error_alone"] = *layer.error_alone;
  if (layer.error_without) row["error_without"] = *layer.error_without;
  if (layer.range) {
    row["low"] = layer.range->low;
    row["high"] = layer.range->high;
    row["clipped"] = layer.clipped;
  }
  if (!layer.results.counts.empty()) row["results"] = HistogramJson(layer.results);
  if (!layer.weights.counts.empty()) row["weights"] = HistogramJson(layer.weights);
  return row;
}

Json StepJson(const SearchStep& step) {
  Json json = {{"left_float", step.left_float}, {"narrowed", step.narrowed}};
  if (step.error) json["error"] = *step.error;
  if (step.bytes) json["bytes"] = *step.bytes;
  if (step.milliseconds) json["milliseconds"] = *step.milliseconds;
  return json;
}

}  // namespace

std::string ShrunkText(const QuantizedSizes& sizes) {
  const double times = static_cast<double>(sizes.before) / static_cast<double>(sizes.behind);
  return times < 1.05 ? "not smaller" : fmt::format("{:.1f} times smaller", times);
}

std::string QuantizeText(const QuantizeResult& result, const QuantizedSizes& sizes,
                         const std::string& measure) {
  std::map<Format, int> counts;
  std::map<std::string, std::vector<std::string>> floats;
  for (const QuantizedLayer& layer : result.layers) {
    ++counts[layer.format];
    if (!layer.why_float.empty()) floats[layer.why_float].push_back(layer.name);
  }
  std::string text = "layers: ";
  if (counts.size() == 1 && counts.contains(Format::kFloat)) text += "none was quantised: ";
  const size_t label = text.size();
  for (const auto& [format, count] : counts)
    text += fmt::format("{}{} {}", text.size() > label ? ", " : "", count, FormatName(format));
  text += '\n';
  for (const auto& [why, names] : floats)
    text += fmt::format("float:  {} ({})\n", fmt::join(names, ", "), why);
  const BudgetCost& cost = result.cost;
  if (result.float_score)
    text += fmt::format("score:  {:.6g} as floats, {:.6g} now\n", *result.float_score,
                        *result.float_score - *cost.error);
  else if (cost.error)
    text += fmt::format("error:  {:.3g} ({}) of the outputs\n", *cost.error, measure);
  if (cost.milliseconds) text += fmt::format("time:   {:.3g} ms on this machine\n", *cost.milliseconds);
  text += fmt::format("bytes:  {} as floats, {} now ({})\n\n", Grouped(sizes.before), Grouped(sizes.behind),
                      ShrunkText(sizes));
  return text;
}

Json QuantizeJson(const QuantizeResult& result, const QuantizedSizes& sizes, const std::string& measure) {
  Json json = {{"bytes_before", sizes.before}, {"bytes", sizes.behind}, {"layers", Json::array()}};
  if (result.cost.error) {
    json["measure"] = measure;
    json["error"] = *result.cost.error;
  }
  if (result.float_score) json["score_before"] = *result.float_score;
  if (result.cost.milliseconds) json["milliseconds"] = *result.cost.milliseconds;
  for (const QuantizedLayer& layer : result.layers) json["layers"].push_back(LayerJson(layer));
  for (const SearchStep& step : result.trail) json["search"].push_back(StepJson(step));
  json["notes"] = result.notes;
  return json;
}

}  // namespace skiff::cli
