// Graph to text. The grammar is described in text.h.
#include <algorithm>
#include <iterator>
#include <type_traits>

#include "core/half.h"
#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/text.h"
#include "graph/text_grammar.h"
#include "ops/build_ops.h"

namespace skiff {
namespace {

constexpr int64_t kMaxPrintedElements = 16;

/// A name as it is, or in quotes where it could be read as something else.
std::string NameText(const std::string& name) {
  const bool plain = !name.empty() && name != "_" && !text::IsKeyword(name) && text::StartsName(name[0]) &&
                     std::all_of(name.begin(), name.end(), text::ContinuesName);
  if (plain) return name;
  std::string quoted = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string FloatText(double value) { return fmt::format("{}", value); }
std::string FloatText(float value) { return fmt::format("{}", value); }

struct FieldPrinter {
  std::vector<std::string> texts;

  template <class T>
  void operator()(int, const char* name, const T& member) {
    texts.push_back(fmt::format("{}={}", name, Text(name, member)));
  }

 private:
  template <class T>
  std::string Text(std::string_view name, const T& member) {
    if constexpr (std::is_same_v<T, Ints>) {
      return fmt::format("[{}]", fmt::join(member.begin(), member.end(), ", "));
    } else if constexpr (std::is_enum_v<T>) {
      const auto index = static_cast<size_t>(member);
      return index < std::size(EnumNames<T>::kNames) ? EnumNames<T>::kNames[index] : std::to_string(index);
    } else if constexpr (std::is_same_v<T, bool>) {
      return member ? "true" : "false";
    } else if constexpr (std::is_floating_point_v<T>) {
      return FloatText(member);
    } else if (text::IsDTypeField(name)) {
      return DTypeName(static_cast<DType>(member));
    } else {
      return std::to_string(member);
    }
  }
};

/// Only Symbols and numbers can be read back; longer expressions follow from the shape rules.
bool CanBeParsed(const std::vector<Dim>& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim& dim) { return dim.constant() || dim.symbol() >= 0; });
}

std::string ShortDimsText(const Graph& graph, const std::vector<Dim>& dims) {
  std::vector<std::string> texts;
  for (const Dim& dim : dims) {
    texts.push_back(dim.constant() ? std::to_string(dim.value)
                                   : NameText(graph.symbols()[static_cast<size_t>(dim.symbol())].name));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// ": f32[1, 3]", or "" for a value without a type.
std::string TypeSuffix(const Graph& graph, const Value& value) {
  if (value.dtype == DType::kInvalid) return "";
  return fmt::format(": {}{}{}", DTypeName(value.dtype),
                     value.has_shape && CanBeParsed(value.dims) ? ShortDimsText(graph, value.dims) : "",
                     QuantizationText(value.quantization));
}

std::string ElementText(const TensorData& data, int64_t i) {
  switch (data.dtype()) {
    case DType::kF32:
      return FloatText(data.as<float>()[i]);
    case DType::kF64:
      return FloatText(data.as<double>()[i]);
    case DType::kF16:
      return FloatText(static_cast<float>(data.as<Half>()[i]));
    case DType::kU64:
      return std::to_string(data.as<uint64_t>()[i]);
    default:
      return std::to_string(data.ToInts()[static_cast<size_t>(i)]);
  }
}

std::string DataText(const TensorData& data) {
  if (data.elements() > kMaxPrintedElements) return fmt::format("data 0x{:016x}", text::HashElements(data));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < data.elements(); ++i) texts.push_back(ElementText(data, i));
  if (data.shape().rank() == 0) return texts[0];
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string SymbolText(const Symbol& symbol) {
  std::string line = fmt::format("symbol {}: {}..", NameText(symbol.name), symbol.min);
  if (symbol.max != Symbol::kUnbounded) line += std::to_string(symbol.max);
  if (symbol.multiple != 1) line += fmt::format(" multiple {}", symbol.multiple);
  return line + "\n";
}

std::string Statements(const Graph& graph, const std::string& indent);

/// " then {...} else {...}"
std::string BodiesText(const Node& node, const std::string& indent) {
  std::string text;
  const auto names = BodyNames(node.op);
  for (size_t b = 0; b < node.bodies.size() && b < names.size(); ++b)
    text += fmt::format(" {} {{\n{}{}}}", names[b], Statements(node.bodies[b], indent + "  "), indent);
  return text;
}

std::string NodeText(const Graph& graph, const Node& node, const std::string& indent) {
  std::vector<std::string> results;
  for (ValueId id : node.outputs) {
    const Value& value = graph.value(id);
    results.push_back(NameText(value.name) + TypeSuffix(graph, value));
  }
  std::vector<std::string> arguments;
  for (ValueId id : node.inputs) arguments.push_back(id == kNoValue ? "_" : NameText(graph.value(id).name));
  std::string attrs = PrintAttrs(node.op, node.attrs);
  if (!attrs.empty()) attrs.insert(0, " ");
  return fmt::format("{} = {}({}){}{}\n", fmt::join(results, ", "), FindOp(node.op)->name,
                     fmt::join(arguments, ", "), attrs, BodiesText(node, indent));
}

/// What stands between a graph's braces.
std::string Statements(const Graph& graph, const std::string& indent) {
  std::string result;
  const auto line = [&](const std::string& text) { result += indent + text; };
  for (const Symbol& symbol : graph.symbols()) {
    if (!(symbol.min == 0 && symbol.max == Symbol::kUnbounded && symbol.multiple == 1))
      line(SymbolText(symbol));
  }
  for (const GraphPort& port : graph.inputs()) {
    line(fmt::format("input {}{}\n", NameText(port.name), TypeSuffix(graph, graph.value(port.value))));
  }
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.constant || (value.uses.empty() && !graph.IsGraphOutput(id))) continue;
    line(fmt::format("const {}{} = {}\n", NameText(value.name), TypeSuffix(graph, value),
                     DataText(*value.constant)));
  }
  for (NodeId id : graph.TopologicalOrder()) line(NodeText(graph, graph.node(id), indent));
  for (const GraphPort& port : graph.outputs()) {
    line(fmt::format("output {} = {}\n", NameText(port.name), NameText(graph.value(port.value).name)));
  }
  return result;
}

}  // namespace

std::string PrintAttrs(OpCode op, const AttrStorage& attrs) {
  AttrStorage defaults;
  InitAttrs(op, defaults);
  FieldPrinter given;
  FieldPrinter plain;
  VisitAttrs(op, attrs, given);
  VisitAttrs(op, defaults, plain);
  std::vector<std::string> shown;
  for (size_t i = 0; i < given.texts.size(); ++i) {
    if (given.texts[i] != plain.texts[i]) shown.push_back(given.texts[i]);
  }
  return shown.empty() ? "" : fmt::format("{{{}}}", fmt::join(shown, ", "));
}

std::string PrintGraph(const Graph& graph) {
  return fmt::format("graph {} {{\n{}}}\n", NameText(graph.name), Statements(graph, "  "));
}

}  // namespace skiff
