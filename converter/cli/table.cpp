#include "cli/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace skiff::cli {

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.title.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto add = [&](size_t i, const std::string& cell) {
    text += i == 0 ? "" : "  ";
    text += columns_[i].align == Align::kRight ? fmt::format("{:>{}}", cell, widths[i])
                                               : fmt::format("{:<{}}", cell, widths[i]);
  };
  const auto end_line = [&] {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  };
  for (size_t i = 0; i < columns_.size(); ++i) add(i, columns_[i].title);
  end_line();
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) add(i, row[i]);
    end_line();
  }
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
