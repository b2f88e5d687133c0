#include "cli/quantize_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"

namespace skiff::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --bar: #3b78c2; --cut: #c2413b; --weak: #8888; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .2rem .5rem; text-align: left; }
th { position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--weak); }
tr + tr td { border-top: 1px solid #8883; } .search { width: auto; } .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.format { border-radius: .3rem; padding: 0 .4rem; background: #3b78c233; } .f32 { background: #c2413b33; }
.share { background: var(--bar); height: .5rem; display: inline-block; min-width: 1px; }
svg { display: block; } dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { color: GrayText; } dd { margin: 0; } .why { color: GrayText; }
)";

constexpr int kHistogramWidth = 160;
constexpr int kHeight = 36;
constexpr int kMostShare = 120;  ///< Pixels of a bar.

std::string Number(const std::optional<double>& number, const char* unit = "") {
  return number ? fmt::format("{:.3g}{}", *number, unit) : "";
}

/// Bars of the square root of what was counted, so that tails can be seen; what lies beyond the range is red.
std::string Picture(const Histogram& histogram, const std::optional<Range>& range) {
  if (histogram.counts.empty()) return "";
  const int64_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  const double step = (histogram.high - histogram.low) / static_cast<double>(histogram.counts.size());
  const double width = static_cast<double>(kHistogramWidth) / static_cast<double>(histogram.counts.size());
  std::string inside;
  std::string beyond;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double share = std::sqrt(static_cast<double>(histogram.counts[i]) / static_cast<double>(most));
    const double height = std::max(1.0, share * kHeight);
    const double middle = histogram.low + (static_cast<double>(i) + 0.5) * step;
    const bool cut = range && (middle < range->low || middle > range->high);
    (cut ? beyond : inside) += fmt::format("M{:.1f} {}v-{:.1f}h{:.1f}v{:.1f}z",
                                           static_cast<double>(i) * width, kHeight, height, width, height);
  }
  return fmt::format(
      "<svg width='{}' height='{}' role='img'><title>{:.4g} to {:.4g}{}</title>"
      "<path fill='var(--bar)' d='{}'/><path fill='var(--cut)' d='{}'/></svg>",
      kHistogramWidth, kHeight, histogram.low, histogram.high,
      range ? fmt::format("; codes for {:.4g} to {:.4g}", range->low, range->high) : "", inside, beyond);
}

std::string Row(const QuantizedLayer& layer, double most_alone) {
  const double share = layer.error_alone && most_alone > 0 ? *layer.error_alone / most_alone : 0;
  std::string row = fmt::format(
      "<tr><td>{}{}</td><td>{}</td><td><span class='format {}'>{}</span></td>", EscapeHtml(layer.name),
      layer.why_float.empty() ? ""
                              : fmt::format("<br><span class='why'>{}</span>", EscapeHtml(layer.why_float)),
      EscapeHtml(layer.op), FormatName(layer.format), FormatName(layer.format));
  row += fmt::format("<td class='number'>{}</td>", Number(layer.signal_to_noise, " dB"));
  row += fmt::format("<td class='number'>{}</td><td><span class='share' style='width:{:.0f}px'></span></td>",
                     Number(layer.error_alone), std::isfinite(share) ? share * kMostShare : kMostShare);
  row += fmt::format("<td class='number'>{}</td>", Number(layer.error_without));
  row += fmt::format("<td class='number'>{}</td><td class='number'>{}</td>",
                     Grouped(static_cast<uint64_t>(layer.bytes_before)),
                     Grouped(static_cast<uint64_t>(layer.bytes)));
  row += fmt::format(
      "<td>{}</td><td class='number'>{}</td><td>{}</td></tr>\n", Picture(layer.results, layer.range),
      layer.clipped > 0 ? fmt::format("{:.2g} %", 100 * layer.clipped) : "", Picture(layer.weights, {}));
  return row;
}

std::string Trail(const QuantizeResult& result, const std::string& measure) {
  if (result.trail.empty()) return "";
  std::string text = fmt::format(
      "<h2>Search</h2>\n<table class='search'><tr><th class='number'>layers left float</th>"
      "<th class='number'>with four bits</th><th class='number'>error then ({})</th>"
      "<th class='number'>bytes</th><th class='number'>time</th></tr>\n",
      EscapeHtml(measure));
  for (const SearchStep& step : result.trail)
    text += fmt::format(
        "<tr><td class='number'>{}</td><td class='number'>{}</td><td class='number'>{}</td>"
        "<td class='number'>{}</td><td class='number'>{}</td></tr>\n",
        step.left_float, step.narrowed, Number(step.error), step.bytes ? Grouped(*step.bytes) : "",
        Number(step.milliseconds, " ms"));
  return text + "</table>\n";
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string QuantizePage(const std::string& title,
                         const std::vector<std::pair<std::string, std::string>>& facts,
                         const QuantizeResult& result, const std::string& measure,
                         const std::string& search_measure) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
      "<meta name='viewport' content='width=device-width'><title>{0}</title><style>{1}</style></head>\n"
      "<body><h1>{0}</h1>\n<dl>",
      EscapeHtml(title), kStyle);
  for (const auto& [name, value] : facts)
    page += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(name), EscapeHtml(value));
  page += "</dl>\n" + Trail(result, search_measure);
  double most_alone = 0;
  for (const QuantizedLayer& layer : result.layers) {
    const double alone = layer.error_alone.value_or(0);
    if (std::isfinite(alone)) most_alone = std::max(most_alone, alone);
  }
  page += fmt::format(
      "<h2>Layers</h2>\n<p>Noise is that of the layer's result, behind all that is quantised before it. "
      "Errors are of the net's outputs ({}): when the layer alone is quantised, and when all others are. "
      "Histograms are of square roots; red is beyond the range of the codes.</p>\n"
      "<table><tr><th>layer</th><th>operator</th><th>format</th><th class='number'>signal<br>to noise</th>"
      "<th class='number'>error alone</th><th></th><th class='number'>all others</th>"
      "<th class='number'>bytes before</th><th class='number'>bytes</th><th>results</th>"
      "<th class='number'>clipped</th><th>weights</th></tr>\n",
      EscapeHtml(measure));
  for (const QuantizedLayer& layer : result.layers) page += Row(layer, most_alone);
  return page + "</table>\n</body></html>\n";
}

}  // namespace skiff::cli
