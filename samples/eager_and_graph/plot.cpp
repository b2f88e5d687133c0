#include "samples/eager_and_graph/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "samples/eager_and_graph/timing.h"

namespace sample {
namespace {

constexpr double kLeft = 70, kTop = 50, kWidth = 900, kPanel = 130, kGap = 34;
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd"};

/// Decades that hold all times.
struct Axis {
  double low, high;

  double Height(double microseconds) const {
    return kPanel * (std::log10(microseconds) - low) / (high - low);
  }
};

Axis AxisOf(const std::vector<Series>& all) {
  double least = 1e9, most = 0;
  for (const Series& series : all) {
    const auto [low, high] = std::minmax_element(series.microseconds.begin(), series.microseconds.end());
    least = std::min(least, *low);
    most = std::max(most, *high);
  }
  return {std::floor(std::log10(least)), std::ceil(std::log10(most))};
}

/// One vertical line per half pixel, from the shortest to the longest of its calls; their median as a
/// polyline.
std::string Curve(const Series& series, const Axis& axis, double bottom, const char* colour) {
  const size_t calls = series.microseconds.size(), columns = std::min<size_t>(calls, 2 * kWidth);
  std::string spans, medians;
  for (size_t column = 0; column < columns; ++column) {
    const auto begin = series.microseconds.begin() + static_cast<std::ptrdiff_t>(column * calls / columns);
    const auto end =
        series.microseconds.begin() + static_cast<std::ptrdiff_t>((column + 1) * calls / columns);
    const std::vector<double> part(begin, end);
    const double x = kLeft + kWidth * static_cast<double>(column) / static_cast<double>(columns);
    spans += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, bottom - axis.Height(Quantile(part, 0)),
                         bottom - axis.Height(Quantile(part, 1)) - 0.5);
    medians += fmt::format("{:.1f},{:.1f} ", x, bottom - axis.Height(Quantile(part, 0.5)));
  }
  return fmt::format(
      "<path d='{}' stroke='{}' stroke-opacity='0.35' fill='none'/>\n"
      "<polyline points='{}' stroke='{}' stroke-width='0.8' fill='none'/>\n",
      spans, colour, medians, colour);
}

std::string Panel(const Series& series, const Axis& axis, double bottom, const char* colour) {
  std::string svg;
  for (double decade = axis.low; decade <= axis.high; ++decade) {
    const double y = bottom - axis.Height(std::pow(10, decade));
    svg += fmt::format(
        "<path d='M{} {:.1f}h{}' stroke='#ddd'/><text x='{}' y='{:.1f}' text-anchor='end'>{:g}</text>\n",
        kLeft, y, kWidth, kLeft - 6, y + 4, std::pow(10, decade));
  }
  svg += fmt::format("<text x='{}' y='{}' fill='{}'>{}: median {:.2f} µs</text>\n", kLeft,
                     bottom - kPanel - 6, colour, series.name, Quantile(series.microseconds, 0.5));
  return svg + Curve(series, axis, bottom, colour);
}

}  // namespace

void WritePlot(const std::string& path, const std::string& title, const std::vector<Series>& all) {
  const Axis axis = AxisOf(all);
  const double height = kTop + static_cast<double>(all.size()) * (kPanel + kGap) + 40;
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' "
      "font-size='12'>\n"
      "<rect width='100%' height='100%' fill='white'/>\n<text x='{}' y='22' font-size='15'>{}</text>\n"
      "<text x='{}' y='{}' text-anchor='end'>call</text>\n"
      "<text transform='translate(18 {}) rotate(-90)' text-anchor='middle'>time per call [µs]; spans: "
      "shortest "
      "to longest; line: median</text>\n",
      kLeft + kWidth + 30, height, kLeft, title, kLeft + kWidth, height - 8, height / 2);
  double bottom = kTop;
  for (size_t i = 0; i < all.size(); ++i) {
    bottom += kGap + kPanel;
    svg += Panel(all[i], axis, bottom, kColours[i % std::size(kColours)]);
  }
  const size_t calls = all.empty() ? 0 : all[0].microseconds.size();
  for (int quarter = 0; quarter <= 4; ++quarter) {
    svg += fmt::format("<text x='{}' y='{}' text-anchor='middle'>{}</text>\n", kLeft + kWidth * quarter / 4,
                       bottom + 16, calls * static_cast<size_t>(quarter) / 4);
  }
  std::ofstream file(path);
  file << svg << "</svg>\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace sample
