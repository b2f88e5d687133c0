#include "cli/sizes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "graph/error.h"

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

void CheckContract(const SymbolInfo& symbol, int64_t size, const std::string& option) {
  if (size >= symbol.min && size <= symbol.max && size % symbol.multiple == 0) return;
  Throw(StatusCode::kNoMatchingBucket, "{}: dimension '{}' is {}; the model was converted for {}", option,
        symbol.name, size, RangeText(symbol.min, symbol.max, symbol.multiple));
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

void SymbolSizes::Set(const NamedSizes& named, const std::string& option) {
  for (const auto& [name, size] : named) {
    const std::string text = fmt::format("{} {}={}", option, name, size);
    const auto* found = std::find_if(symbols.begin(), symbols.end(),
                                     [&, &wanted = name](const SymbolInfo& s) { return s.name == wanted; });
    if (found == symbols.end()) {
      std::string names;
      for (const SymbolInfo& symbol : symbols) names += fmt::format(" '{}'", symbol.name);
      Throw(StatusCode::kInvalidArgument,
            "{}: the model has no open dimension '{}'; its open dimensions are:{}", text, name,
            names.empty() ? " none" : names);
    }
    CheckContract(*found, size, text);
    sizes[static_cast<size_t>(found - symbols.begin())] = size;
  }
}

PortInfo SymbolSizes::Sized(const PortInfo& port) const {
  PortInfo sized = port;
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    if (port.symbols[axis] >= 0 && static_cast<size_t>(port.symbols[axis]) < sizes.size())
      sized.shape[axis] = sizes[static_cast<size_t>(port.symbols[axis])];
  }
  return sized;
}

std::string SymbolSizes::TypeText(const PortInfo& port) const { return OpenTypeText(symbols, Sized(port)); }

std::string SymbolSizes::MissingOptions(const PortInfo& port) const {
  std::vector<std::string> options;
  const PortInfo sized = Sized(port);
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    if (sized.shape[axis] >= 0) continue;
    const std::string option =
        fmt::format("--dim '{}=N'", AxisTexts(symbols, sized)[static_cast<size_t>(axis)]);
    if (std::find(options.begin(), options.end(), option) == options.end()) options.push_back(option);
  }
  return fmt::format("{}", fmt::join(options, " "));
}

std::string SizesText(Span<const SymbolInfo> symbols, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (sizes[i] >= 0) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", symbols[i].name, sizes[i]);
  }
  return text;
}

std::string RangeText(int64_t min, int64_t max, int64_t multiple) {
  const std::string step = multiple > 1 ? fmt::format(",multiple={}", multiple) : "";
  if (min == max) return std::to_string(min);
  return fmt::format("{}..{}{}", min, max == SymbolInfo::kUnbounded ? "" : std::to_string(max), step);
}

std::vector<std::string> AxisTexts(Span<const SymbolInfo> symbols, const PortInfo& port) {
  std::vector<std::string> texts;
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    const auto symbol = static_cast<size_t>(port.symbols[axis]);
    texts.push_back(port.shape[axis] >= 0     ? std::to_string(port.shape[axis])
                    : port.symbols[axis] < 0  ? "?"
                    : symbol < symbols.size() ? symbols[symbol].name
                                              : "?");
  }
  return texts;
}

std::string OpenTypeText(Span<const SymbolInfo> symbols, const PortInfo& port) {
  return fmt::format("{} [{}]", DTypeName(port.dtype), fmt::join(AxisTexts(symbols, port), ", "));
}

}  // namespace skiff::cli
