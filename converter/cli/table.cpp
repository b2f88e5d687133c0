#include "cli/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "cli/print.h"
#include "cli/terminal.h"

namespace skiff::cli {

namespace {

constexpr size_t kBetween = 2;
/// Of a column that is broken, and of one with names.
constexpr size_t kNarrowest = 16;
constexpr size_t kShortestNames = 24;

std::vector<std::string> LinesOf(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t at = BreakOf(text, 0, width); at != std::string::npos; at = BreakOf(text, begin, width)) {
    lines.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

size_t WidthOf(const std::vector<std::string>& lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  return width;
}

/// How wide each column that is not rigid may be, so that all of them fit: those that need less leave it to
/// the others.
size_t MostOfEach(const std::vector<size_t>& widths, const std::vector<bool>& rigid, size_t allowed) {
  std::vector<size_t> soft;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (rigid[i]) allowed -= std::min(allowed, widths[i]);
    if (!rigid[i]) soft.push_back(widths[i]);
  }
  std::sort(soft.begin(), soft.end());
  for (size_t i = 0; i < soft.size(); ++i) {
    const size_t share = allowed / (soft.size() - i);
    if (soft[i] > share) return share;
    allowed -= soft[i];
  }
  return std::string::npos;
}

}  // namespace

/// Those of texts become narrower, the widest first, until the lines fit or no text can be broken any more.
std::vector<size_t> Table::Widths() const {
  const auto needed = [&](size_t column, size_t allowed) {
    size_t width = columns_[column].title.size();
    for (const auto& row : rows_) width = std::max(width, WidthOf(LinesOf(row[column], allowed)));
    return width;
  };
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) widths.push_back(needed(i, std::string::npos));
  const size_t allowed = TableWidth(STDOUT_FILENO);
  const size_t between = kBetween * (columns_.size() - 1);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t all = std::accumulate(widths.begin(), widths.end(), between);
    if (columns_[i].names && all > allowed && widths[i] > kShortestNames)
      widths[i] = std::max(kShortestNames, widths[i] - std::min(widths[i], all - allowed));
  }
  std::vector<bool> rigid;
  for (const Column& column : columns_) rigid.push_back(column.align != Align::kLeft || column.names);
  while (std::accumulate(widths.begin(), widths.end(), between) > allowed) {
    const size_t most = std::max(kNarrowest, MostOfEach(widths, rigid, allowed - std::min(allowed, between)));
    bool changed = false;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (rigid[i] || widths[i] <= most) continue;
      const size_t narrower = std::min(needed(i, most), widths[i]);
      changed = changed || narrower < widths[i];
      rigid[i] = narrower > most;
      widths[i] = narrower;
    }
    if (!changed) break;
  }
  return widths;
}

void Table::Add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = OneCell(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  const std::vector<size_t> widths = Widths();
  std::string text;
  const auto add_row = [&](const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> lines;
    size_t height = 1;
    for (size_t i = 0; i < cells.size(); ++i) {
      lines.push_back(LinesOf(columns_[i].names ? Shortened(cells[i], widths[i]) : cells[i], widths[i]));
      height = std::max(height, lines.back().size());
    }
    for (size_t at = 0; at < height; ++at) {
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = at < lines[i].size() ? lines[i][at] : "";
        text += i == 0 ? "" : std::string(kBetween, ' ');
        text += columns_[i].align == Align::kRight ? fmt::format("{:>{}}", cell, widths[i])
                                                   : fmt::format("{:<{}}", cell, widths[i]);
      }
      while (!text.empty() && text.back() == ' ') text.pop_back();
      text += '\n';
    }
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  add_row(titles);
  for (const auto& row : rows_) add_row(row);
  return text;
}

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string Duration(double nanoseconds) {
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  for (const Unit& unit : {Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "us"}}) {
    const double value = nanoseconds / unit.nanoseconds;
    if (value >= 1) return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit.name);
  }
  return fmt::format("{:.0f} ns", nanoseconds);
}

std::string Shortened(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  const size_t tail = (width - 2) * 2 / 3;
  return text.substr(0, width - 2 - tail) + ".." + text.substr(text.size() - tail);
}

}  // namespace skiff::cli
