/// Text tables with aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skiff::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool names = false;  ///< Their middles may be left out.
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns. Where lines are too long (TableWidth() of standard output), names lose their
  /// middles, and texts are broken at spaces and take several lines.
  void Add(std::vector<std::string> cells);
  std::string ToString() const;

 private:
  std::vector<size_t> Widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);
/// Nanoseconds in the unit that suits them: "812 ns", "34.1 us", "2.35 ms", "1.20 s".
std::string Duration(double nanoseconds);
/// A long name with its middle left out, at most `width` characters.
std::string Shortened(const std::string& text, size_t width);

}  // namespace skiff::cli
