#include <charconv>
#include <set>
#include <sstream>

#include "files/tensor_files.h"
#include "graph/error.h"
#include "graph/port_notes.h"
#include "tune/buckets.h"

namespace skiff {
namespace {

constexpr const char* kCountColumn = "count";
constexpr int64_t kMaxUniformSizes = 100000;

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    const size_t begin = cell.find_first_not_of(" \t\r\"");
    const size_t end = cell.find_last_not_of(" \t\r\"");
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

}  // namespace

ObservedShapes ReadObservedShapes(const std::string& path) {
  std::istringstream file(ReadFile(path));
  std::string line;
  if (!std::getline(file, line)) {
    Throw(StatusCode::kInvalidArgument,
          "{}: is empty; a header of dimension names was expected, for example batch,seq,count", path);
  }
  if (line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  const std::vector<std::string> names = Cells(line);
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      Throw(StatusCode::kInvalidArgument, "{}: column '{}' is there twice", path, name);
  }
  ObservedShapes shapes;
  for (int number = 2; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::vector<std::string> cells = Cells(line);
    if (cells.size() != names.size())
      Throw(StatusCode::kInvalidArgument, "{}, line {}: {} values, the header has {}", path, number,
            cells.size(), names.size());
    ObservedShapes::Row& row = shapes.rows.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) {
      int64_t value = -1;
      const char* end = cells[i].data() + cells[i].size();
      if (std::from_chars(cells[i].data(), end, value).ptr != end || cells[i].empty() || value < 1)
        Throw(StatusCode::kInvalidArgument,
              "{}, line {}: '{}' is no {}; a whole number from 1 on was expected", path, number, cells[i],
              names[i] == kCountColumn ? "number of calls" : fmt::format("size of '{}'", names[i]));
      if (names[i] == kCountColumn) {
        row.count = static_cast<double>(value);
      } else {
        row.sizes[names[i]] = value;
      }
    }
  }
  if (shapes.rows.empty()) Throw(StatusCode::kInvalidArgument, "{}: has no rows behind the header", path);
  return shapes;
}

ObservedShapes UniformShapes(const std::map<std::string, DimRange>& ranges) {
  ObservedShapes shapes;
  shapes.rows.emplace_back();
  for (const auto& [name, range] : ranges) {
    // By how many times the multiple: only these are walked, and there are not too many.
    const int64_t first = range.min / range.multiple + (range.min % range.multiple > 0 ? 1 : 0);
    const int64_t last = range.max / range.multiple;
    if (range.min < 1 || last < first)
      Throw(StatusCode::kInvalidArgument, "--uniform: '{}' has no size in {}; sizes are 1 or more", name,
            RangeText(range));
    if (last - first >= kMaxUniformSizes / static_cast<int64_t>(shapes.rows.size()))
      Throw(StatusCode::kInvalidArgument, "--uniform: these ranges have more than {} combinations",
            kMaxUniformSizes);
    if (range.multiple > 1) shapes.multiples[name] = range.multiple;
    std::vector<ObservedShapes::Row> product;
    for (const ObservedShapes::Row& row : shapes.rows) {
      for (int64_t times = first; times <= last; ++times) {
        product.push_back(row);
        product.back().sizes[name] = times * range.multiple;
      }
    }
    shapes.rows = std::move(product);
  }
  return shapes;
}

}  // namespace skiff
