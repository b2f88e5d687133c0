#include "run/sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/counted.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "graph/quantization.h"

namespace skiff {
namespace {

void CheckContract(const SymbolInfo& symbol, int64_t size, const std::string& option) {
  if (size >= symbol.min && size <= symbol.max && size % symbol.multiple == 0) return;
  Throw(StatusCode::kNoMatchingBucket, "{}: dimension '{}' is {}; the model was converted for {}", option,
        symbol.name, size, RangeText(symbol.min, symbol.max, symbol.multiple));
}

}  // namespace

SymbolSizes::SymbolSizes(const ModelSignature& signature)
    : symbols(signature.model().symbols()), sizes(symbols.size(), -1), said(symbols.size()) {
  for (size_t i = 0; i < symbols.size(); ++i) own.push_back(signature.Has(i));
}

/// Another signature's Symbol may have the name as well.
size_t SymbolSizes::Find(const std::string& name) const {
  size_t i = 0;
  while (i < symbols.size() && !(own[i] && name == symbols[i].name)) ++i;
  return i;
}

void SymbolSizes::Set(const NamedSizes& named, const std::string& option) {
  for (const auto& [name, size] : named) {
    const std::string text = fmt::format("{} {}={}", option, name, size);
    const size_t found = Find(name);
    if (found == symbols.size()) {
      std::vector<std::string> names;
      for (size_t i = 0; i < symbols.size(); ++i) {
        if (own[i]) names.emplace_back(symbols[i].name);
      }
      Throw(StatusCode::kInvalidArgument,
            "{}: the model has no open dimension '{}'; its open dimensions are: {}{}", text, name,
            names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "' '")), DidYouMean(name, names));
    }
    if (sizes[found] >= 0 && sizes[found] != size)
      Throw(StatusCode::kInvalidArgument, "{}: {} says another size", text, said[found]);
    CheckContract(symbols[found], size, text);
    sizes[found] = size;
    said[found] = text;
  }
}

void SymbolSizes::SetShapes(const NamedShapes& shapes, Span<const PortInfo> ports) {
  for (const auto& [name, extents] : shapes) {
    const std::string text = fmt::format("--shape {}={}", name, fmt::join(extents, "x"));
    const auto* port = std::find_if(ports.begin(), ports.end(),
                                    [&, &wanted = name](const PortInfo& one) { return wanted == one.name; });
    if (port == ports.end()) {
      std::vector<std::string> names;
      for (const PortInfo& one : ports) names.emplace_back(one.name);
      Throw(StatusCode::kInvalidArgument, "{}: the model has no input '{}'; its inputs are '{}'{}", text,
            name, fmt::join(names, "', '"), DidYouMean(name, names));
    }
    bool fits = port->shape.rank() == static_cast<int>(extents.size());
    for (int axis = 0; fits && axis < port->shape.rank(); ++axis)
      fits = port->shape[axis] < 0 || port->shape[axis] == extents[static_cast<size_t>(axis)];
    if (!fits)
      Throw(StatusCode::kInvalidArgument, "{}: input '{}' is {}", text, name, OpenTypeText(symbols, *port));
    for (int axis = 0; axis < port->shape.rank(); ++axis) {
      if (port->shape[axis] >= 0 || port->symbols[axis] < 0) continue;
      const auto symbol = static_cast<size_t>(port->symbols[axis]);
      const int64_t extent = extents[static_cast<size_t>(axis)];
      if (sizes[symbol] >= 0 && sizes[symbol] != extent)
        Throw(StatusCode::kInvalidArgument,
              "{}: dimension '{}' would be {}, but it is {} elsewhere; equal names mean equal sizes", text,
              symbols[symbol].name, extent, sizes[symbol]);
      CheckContract(symbols[symbol], extent, text);
      sizes[symbol] = extent;
      said[symbol] = text;
    }
  }
}

void SymbolSizes::Take(const PortInfo& port, const Shape& shape) {
  for (int axis = 0; axis < std::min(port.shape.rank(), shape.rank()); ++axis) {
    if (port.shape[axis] < 0 && port.symbols[axis] >= 0)
      sizes[static_cast<size_t>(port.symbols[axis])] = shape[axis];
  }
}

bool SymbolSizes::Open() const {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (own[i] && sizes[i] < 0) return true;
  }
  return false;
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

std::string ShortQuantizationText(const Quantization* quantization) {
  if (quantization == nullptr || quantization->per_tensor()) return QuantizationText(quantization);
  return fmt::format(" {{{} along axis {}}}", Counted(static_cast<uint64_t>(quantization->count), "scale"),
                     quantization->axis);
}

std::string OpenTypeText(Span<const SymbolInfo> symbols, const PortInfo& port) {
  return fmt::format("{} [{}]{}", DTypeName(port.dtype), fmt::join(AxisTexts(symbols, port), ", "),
                     QuantizationText(port.quantization));
}

}  // namespace skiff
