#include "shape_contract.h"

#include <algorithm>
#include <set>

#include "graph/counted.h"
#include "graph/error.h"
#include "graph/nearest.h"

namespace skiff {
namespace {

/// Sets a Symbol's value, or throws when another option gave it a different one.
void Assign(const Graph& graph, std::map<SymbolId, DimRange>& values, SymbolId symbol, const DimRange& range,
            const std::string& option) {
  const auto [found, fresh] = values.try_emplace(symbol, range);
  if (!fresh && !(found->second == range)) {
    Throw(StatusCode::kInvalidArgument,
          "{}: dimension '{}' would be {}, but it is {} elsewhere; equal names mean equal sizes", option,
          graph.symbols()[static_cast<size_t>(symbol)].name, RangeText(range), RangeText(found->second));
  }
}

std::vector<std::string> InputsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphPort& port : graph.caller_inputs()) names.push_back(port.name);
  return names;
}

void AssignShape(const Graph& graph, std::map<SymbolId, DimRange>& values, const std::string& name,
                 const std::vector<int64_t>& shape) {
  const std::string option = fmt::format("--shape {}={}", name, fmt::join(shape, "x"));
  const auto port = std::find_if(graph.caller_inputs().begin(), graph.caller_inputs().end(),
                                 [&](const GraphPort& p) { return p.name == name; });
  if (port == graph.caller_inputs().end()) {
    Throw(StatusCode::kInvalidArgument, "{}: the model has no input '{}'; its inputs are {}{}", option, name,
          InputNames(graph), DidYouMean(name, InputsOf(graph)));
  }
  const std::vector<Dim>& dims = graph.value(port->value).dims;
  if (dims.size() != shape.size()) {
    Throw(StatusCode::kInvalidArgument, "{}: input '{}' has {}, not {}", option, name,
          Counted(dims.size(), "dimension"), shape.size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].constant()) {
      if (shape[i] < 0) Throw(StatusCode::kInvalidArgument, "{}: a size cannot be negative", option);
      Assign(graph, values, dims[i].symbol(), shape[i], option);
    } else if (dims[i].value != shape[i]) {
      Throw(StatusCode::kInvalidArgument,
            "{}: dimension {} of input '{}' is {} in the model and cannot be {}; export it for that size, or "
            "with "
            "the dimension open",
            option, i, name, dims[i].value, shape[i]);
    }
  }
}

SymbolId FindDimension(const Graph& graph, const std::string& name, const std::string& option) {
  std::vector<std::string> names;
  for (size_t id = 0; id < graph.symbols().size(); ++id) {
    if (graph.symbols()[id].name == name) return static_cast<SymbolId>(id);
    names.push_back(graph.symbols()[id].name);
  }
  Throw(StatusCode::kInvalidArgument, "{}: the model has no dimension '{}'; its named dimensions are: {}{}",
        option, name,
        names.empty() ? "none, its inputs have the sizes of the export; export it with the dimension open"
                      : fmt::format("'{}'", fmt::join(names, "' '")),
        DidYouMean(name, names));
}

/// Gives the inputs' dimensions the contracts that the Symbols have now.
void Renew(Graph& graph) {
  for (const GraphPort& port : graph.caller_inputs()) {
    for (Dim& dim : graph.value(port.value).dims) {
      if (!dim.constant())
        dim = Dim::OfSymbol(dim.symbol(), graph.symbols()[static_cast<size_t>(dim.symbol())]);
    }
  }
}

}  // namespace

std::string RangeText(const DimRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  const std::string end = range.max == Symbol::kUnbounded ? "" : std::to_string(range.max);
  return fmt::format("{}..{}{}", range.min, end,
                     range.multiple > 1 ? fmt::format(",multiple={}", range.multiple) : "");
}

std::string InputNames(const Graph& graph) {
  const std::vector<std::string> names = InputsOf(graph);
  return names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"));
}

void FixShapes(Graph& graph, const ShapeContract& contract) {
  std::map<SymbolId, DimRange> ranges;
  for (const auto& [name, shape] : contract.shapes) AssignShape(graph, ranges, name, shape);
  for (const auto& [name, range] : contract.dims) {
    const std::string option = fmt::format("--dim {}={}", name, RangeText(range));
    const SymbolId symbol = FindDimension(graph, name, option);
    if (range.min < 0 || range.max < range.min || range.multiple < 1)
      Throw(StatusCode::kInvalidArgument, "{}: no size is in this range", option);
    Assign(graph, ranges, symbol, range, option);
  }
  for (const GraphPort& port : graph.caller_inputs()) {
    for (const Dim& dim : graph.value(port.value).dims) {
      if (dim.constant()) continue;
      Symbol& symbol = graph.symbols()[static_cast<size_t>(dim.symbol())];
      const auto found = ranges.find(dim.symbol());
      const DimRange range = found == ranges.end() ? DimRange() : found->second;
      symbol.min = range.min;
      symbol.max = range.max;
      symbol.multiple = range.multiple;
    }
  }
  Renew(graph);
}

void NarrowTo(Graph& graph, const Bucket& bucket) {
  for (const auto& [name, range] : bucket) {
    const std::string option = fmt::format("--bucket {}={}", name, RangeText(range));
    Symbol& symbol = graph.symbols()[static_cast<size_t>(FindDimension(graph, name, option))];
    if (range.min < symbol.min || range.max > symbol.max || range.max < range.min) {
      Throw(StatusCode::kInvalidArgument, "{}: is outside of what --dim allows for dimension '{}': {}",
            option, name, RangeText(DimRange(symbol.min, symbol.max, symbol.multiple)));
    }
    if (range.max / symbol.multiple * symbol.multiple < range.min)
      Throw(StatusCode::kInvalidArgument, "{}: dimension '{}' cannot be {}, no multiple of {}", option, name,
            RangeText(range), symbol.multiple);
    symbol.min = range.min;
    symbol.max = range.max;
  }
  Renew(graph);
}

std::string BucketText(const Bucket& bucket) {
  std::string text;
  for (const auto& [name, range] : bucket)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, RangeText(range));
  return text;
}

std::string OpenDimsHint(const Graph& graph) {
  std::set<SymbolId> open;
  for (const GraphPort& port : graph.caller_inputs()) {
    for (const Dim& dim : graph.value(port.value).dims) {
      if (!dim.constant() && !graph.symbols()[static_cast<size_t>(dim.symbol())].bounded())
        open.insert(dim.symbol());
    }
  }
  if (open.empty()) return "";
  constexpr size_t kMostNamed = 20;
  std::vector<std::string> options;
  for (const SymbolId symbol : open) {
    if (options.size() == kMostNamed) break;
    options.push_back(fmt::format(" --dim '{}=1..MAX'", graph.symbols()[static_cast<size_t>(symbol)].name));
  }
  return fmt::format("memory is planned on the device at each new shape;{}{} would let it be planned ahead",
                     fmt::join(options, ""), AndMore(open.size(), options.size()));
}

}  // namespace skiff
