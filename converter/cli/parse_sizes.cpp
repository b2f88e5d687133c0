#include "cli/parse_sizes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <vector>

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

}  // namespace

void ParseSizes(const std::string& option, const std::string& text, NamedSizes& sizes) {
  const auto malformed = [&](const std::string& expected) {
    throw CLI::ValidationError(fmt::format("{} {}", option, text), "expected " + expected);
  };
  for (const std::string& part : SplitSizes(text)) {
    const size_t equals = part.rfind('=');
    int64_t size = -1;
    const char* end = part.data() + part.size();
    const bool named = equals != std::string::npos && equals > 0;
    const auto [stop, error] = std::from_chars(part.data() + (named ? equals + 1 : 0), end, size);
    if (!named || error != std::errc() || stop != end || size < 0)
      malformed("NAME=SIZE, for example seq=7 or seq=7,batch=2");
    if (!sizes.emplace(part.substr(0, equals), size).second) malformed("each dimension once");
  }
}

}  // namespace skiff::cli
