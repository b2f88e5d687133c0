#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/inspect.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "graph/counted.h"
#include "graph/text.h"
#include "import/import_model.h"

namespace skiff::cli {
namespace {

std::string DimText(const Graph& graph, const Dim& dim) {
  return dim.Text([&](SymbolId id) { return graph.symbols()[static_cast<size_t>(id)].name; });
}

std::vector<std::string> DimTexts(const Graph& graph, const Value& value) {
  std::vector<std::string> texts;
  for (const Dim& dim : value.dims) texts.push_back(DimText(graph, dim));
  return texts;
}

/// A formula that nobody reads becomes f(height, width).
constexpr size_t kLongestDim = 40;
bool IsLong(const Graph& graph, const Dim& dim) { return DimText(graph, dim).size() > kLongestDim; }

std::vector<std::string> ShortDimTexts(const Graph& graph, const Value& value) {
  std::vector<std::string> texts = DimTexts(graph, value);
  for (size_t axis = 0; axis < texts.size(); ++axis) {
    if (!IsLong(graph, value.dims[axis])) continue;
    std::vector<std::string> names;
    value.dims[axis].VisitSymbols([&](SymbolId id) {
      const std::string& name = graph.symbols()[static_cast<size_t>(id)].name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    });
    texts[axis] = fmt::format("f({})", fmt::join(names, ", "));
  }
  return texts;
}

Json PortsJson(const Graph& graph, std::span<const GraphPort> ports) {
  Json json = Json::array();
  for (const GraphPort& port : ports) {
    const Value& value = graph.value(port.value);
    json.push_back({{"name", port.name}, {"dtype", DTypeName(value.dtype)}});
    if (value.has_shape) json.back()["shape"] = DimTexts(graph, value);
    if (value.quantization) json.back()["quantization"] = QuantizationJson(value.quantization.get());
    if (port.notes.picture)
      json.back()["picture"] = {{"mean", port.notes.picture->mean},
                                {"deviation", port.notes.picture->deviation}};
    if (!port.notes.labels.empty()) json.back()["labels"] = port.notes.labels;
    if (!port.notes.value_labels.empty()) json.back()["value_labels"] = port.notes.value_labels;
    for (const auto& [key, value] : port.notes.stated) json.back()[key] = value;
  }
  return json;
}

std::string LabelsText(const std::vector<std::string>& labels, const char* what) {
  if (labels.empty()) return "";
  return fmt::format(", {} {}: {}, ..., {}", labels.size(), what, labels.front(), labels.back());
}

std::string NotesText(const PortNotes& notes) {
  std::string text;
  if (notes.picture && notes.picture->mean.empty()) text = ", pictures";
  if (notes.picture && !notes.picture->mean.empty())
    text = fmt::format(", pictures as (sample - [{}]) / [{}]", fmt::join(notes.picture->mean, ", "),
                       fmt::join(notes.picture->deviation, ", "));
  for (const auto& [key, value] : notes.stated) {
    const auto lines = std::count(value.begin(), value.end(), '\n') + 1;
    text += lines == 1 ? fmt::format(", {} {}", key, value) : fmt::format(", {} of {} lines", key, lines);
  }
  return text + LabelsText(notes.labels, "labels") + LabelsText(notes.value_labels, "labels of its numbers");
}

std::string PortText(const Graph& graph, const GraphPort& port) {
  const Value& value = graph.value(port.value);
  const std::string dtype = value.dtype == DType::kInvalid ? "" : DTypeName(value.dtype);
  return fmt::format(
      "'{}' {}{}{}{}", port.name, dtype,
      value.has_shape ? fmt::format(" [{}]", fmt::join(ShortDimTexts(graph, value), ", ")) : "",
      QuantizationText(value.quantization), NotesText(port.notes));
}

/// The names of the inputs' open dimensions, in their order.
std::vector<std::string> OpenDimensions(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphPort& port : graph.caller_inputs()) {
    const Value& value = graph.value(port.value);
    for (size_t axis = 0; axis < value.dims.size(); ++axis) {
      const std::string name = DimText(graph, value.dims[axis]);
      if (!value.dims[axis].constant() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}

std::map<std::string, size_t> SourceCounts(const Graph& graph) {
  std::map<std::string, size_t> counts;
  for (const SourceNode& source : graph.sources()) ++counts[source.op];
  return counts;
}

uint64_t ConstantBytes(const Graph& graph) {
  uint64_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.constant && !value.uses.empty()) bytes += value.constant->size_bytes();
  }
  return bytes;
}

Json GraphJson(const Graph& graph) {
  return {{"graph", graph.name},
          {"inputs", PortsJson(graph, graph.caller_inputs())},
          {"outputs", PortsJson(graph, graph.caller_outputs())},
          {"constant_bytes", ConstantBytes(graph)},
          {"open_dimensions", OpenDimensions(graph)},
          {"nodes", graph.sources().size()},
          {"operators", SourceCounts(graph)}};
}

std::string PortsText(const Graph& graph, const char* indent) {
  std::string text;
  for (const GraphPort& port : graph.caller_inputs())
    text += Folded(fmt::format("{}input {}", indent, PortText(graph, port)), 4) + '\n';
  for (const GraphPort& port : graph.caller_outputs())
    text += Folded(fmt::format("{}output {}", indent, PortText(graph, port)), 4) + '\n';
  const auto has_long = [&](const GraphPort& port) {
    const Value& value = graph.value(port.value);
    return std::any_of(value.dims.begin(), value.dims.end(),
                       [&](const Dim& dim) { return IsLong(graph, dim); });
  };
  if (std::any_of(graph.caller_outputs().begin(), graph.caller_outputs().end(), has_long))
    text += fmt::format("{}  f(...): a size that follows from these; --json has the formula\n", indent);
  return text;
}

/// What `skiff convert` can be told about them.
std::string OpenDimensionsText(const std::vector<NamedGraph>& signatures) {
  std::vector<std::string> names;
  for (const NamedGraph& signature : signatures) {
    for (const std::string& name : OpenDimensions(signature.graph)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string bounds;
  std::string sizes;
  for (const std::string& name : names) {
    bounds += fmt::format(" --dim '{}=1..MAX'", name);
    sizes += fmt::format(" --dim '{}=N'", name);
  }
  if (bounds.empty()) return "";
  return Folded(fmt::format("open dimensions; 'skiff convert' keeps them open, plans memory ahead with{}, or "
                            "fixes them with{}",
                            bounds, sizes),
                2) +
         '\n';
}

std::string OperatorsText(const Graph& graph, bool nodes) {
  Table table({{"operator"}, {"nodes", Table::Align::kRight}});
  for (const auto& [op, count] : SourceCounts(graph)) table.Add({op, std::to_string(count)});
  return '\n' + table.ToString() + (nodes ? '\n' + PrintGraph(graph) : "");
}

std::string CountsText(const Graph& graph) {
  return fmt::format("graph '{}', {}, {} bytes of constants", graph.name,
                     Counted(graph.sources().size(), "node"), Grouped(ConstantBytes(graph)));
}

}  // namespace

Json SourceJson(const std::string& path, const std::vector<NamedGraph>& signatures,
                const SourceOutline* outline) {
  Json json = {{"file", path}, {"format", LanguageOfModel(path)}};
  if (outline != nullptr) json["opsets"] = OpsetsJson(*outline);
  // What there is one of stands at the top, too.
  if (signatures.size() == 1) json.update(GraphJson(signatures[0].graph));
  for (const NamedGraph& signature : signatures) {
    Json entry = {{"name", signature.name}};
    entry.update(GraphJson(signature.graph));
    json["signatures"].push_back(std::move(entry));
  }
  return json;
}

std::string SourceText(const std::string& path, const std::vector<NamedGraph>& signatures, bool nodes,
                       const SourceOutline* outline) {
  std::string text = fmt::format("{}: {}, ", path, LanguageOfModel(path));
  if (signatures.size() == 1) {
    const Graph& graph = signatures[0].graph;
    text = Folded(text + CountsText(graph), 2) + '\n';
    if (outline != nullptr) text += OpsetsText(*outline);
    if (signatures[0].name != kMainSignature) text += fmt::format("signature '{}'\n", signatures[0].name);
    return text + PortsText(graph, "") + OpenDimensionsText(signatures) + OperatorsText(graph, nodes);
  }
  text += fmt::format("{} signatures\n", signatures.size());
  for (const NamedGraph& signature : signatures) {
    text += fmt::format("signature '{}': {}\n", signature.name, CountsText(signature.graph));
    text += PortsText(signature.graph, "  ");
    for (const GraphVariable& variable : signature.graph.variables)
      text += fmt::format("  variable '{}' {}{}{}\n", variable.name, DTypeName(variable.first.dtype()),
                          ShapeText(variable.first.shape()).c_str(),
                          QuantizationText(variable.first.quantization()));
  }
  text += OpenDimensionsText(signatures);
  for (const NamedGraph& signature : signatures)
    text += fmt::format("\nsignature '{}'", signature.name) + OperatorsText(signature.graph, nodes);
  return text;
}

}  // namespace skiff::cli
