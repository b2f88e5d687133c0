#include "graph/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace skiff {
namespace {

/// Names of files may be of any length; the effort is their product.
constexpr size_t kLongest = 200;

std::string Folded(const std::string& text) {
  std::string folded = text.substr(0, kLongest);
  std::transform(folded.begin(), folded.end(), folded.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return folded;
}

}  // namespace

size_t EditDistance(const std::string& first, const std::string& second) {
  const std::string a = Folded(first);
  const std::string b = Folded(second);
  // Rows i - 2, i - 1 and i of the table of prefixes.
  std::vector<size_t> two_above(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string Nearest(const std::string& name, const std::vector<std::string>& known) {
  std::string nearest;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : known) {
    // One letter of one is all of it.
    if (std::min(name.size(), candidate.size()) < 2 && Folded(name) != Folded(candidate)) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (!nearest.empty() || name.size() < 2) return nearest;
  const auto begins = std::find_if(known.begin(), known.end(), [&](const std::string& candidate) {
    return Folded(candidate).starts_with(Folded(name));
  });
  return begins == known.end() ? "" : *begins;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

}  // namespace skiff
