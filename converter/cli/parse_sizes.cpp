#include "cli/parse_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "cli/option_text.h"

namespace skiff::cli {
namespace {

/// At commas; a comma inside of a name is one that no "=" follows before the next comma.
std::vector<std::string> SplitSizes(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    part += text.substr(begin, comma - begin);
    begin = comma + 1;
    if (part.find('=') == std::string::npos && begin <= text.size()) {
      part += ',';
      continue;
    }
    parts.push_back(std::move(part));
    part.clear();
  }
  return parts;
}

/// "1x3x224"; nothing where it is none. "" is the shape of a scalar.
std::optional<std::vector<int64_t>> ParseExtents(const std::string& text) {
  std::vector<int64_t> extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const auto [stop, error] = std::from_chars(at, end, extents.emplace_back());
    if (error != std::errc() || extents.back() < 0 || (stop != end && (*stop != 'x' || stop + 1 == end)))
      return {};
    at = stop == end ? end : stop + 1;
  }
  return extents;
}

}  // namespace

NamedShapes ParseShapes(const std::vector<std::string>& texts) {
  NamedShapes shapes;
  for (const std::string& text : texts) {
    // Tensor names may contain '=', extents do not.
    const size_t equals = text.rfind('=');
    const bool named = equals != std::string::npos && equals > 0;
    const auto extents = named ? ParseExtents(text.substr(equals + 1)) : std::nullopt;
    if (!extents) Malformed("--shape", text, "NAME=1x3x224x224");
    if (extents->size() > kMaxRank)
      Malformed("--shape", text, fmt::format("at most {} dimensions", kMaxRank));
    if (!shapes.emplace(text.substr(0, equals), *extents).second)
      Malformed("--shape", text, "each input once");
  }
  return shapes;
}

void ParseSizes(const std::string& option, const std::string& text, NamedSizes& sizes) {
  for (const std::string& part : SplitSizes(text)) {
    const size_t equals = part.rfind('=');
    int64_t size = -1;
    const bool named = equals != std::string::npos && equals > 0;
    const bool number = named && ParseNumber(part.substr(equals + 1), size);
    if (number && size < 0)
      Malformed(option, text,
                fmt::format("a size of dimension '{}', which is not negative: NAME=SIZE, for example seq=7",
                            part.substr(0, equals)));
    if (!number) Malformed(option, text, "NAME=SIZE, for example seq=7 or seq=7,batch=2");
    if (!sizes.emplace(part.substr(0, equals), size).second) Malformed(option, text, "each dimension once");
  }
}

}  // namespace skiff::cli
