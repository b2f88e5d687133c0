// Sources that cannot be imported as they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cli/inspect.h"
#include "cli/table.h"
#include "graph/counted.h"

namespace skiff::cli {
namespace {

std::string PortText(const SourceOutline::Port& port) {
  return fmt::format("'{}' {}{}", port.name, port.dtype,
                     port.has_shape ? fmt::format(" [{}]", fmt::join(port.shape, ", "))
                                    : " of a rank that the file does not state");
}

Json PortsJson(const std::vector<SourceOutline::Port>& ports) {
  Json json = Json::array();
  for (const SourceOutline::Port& port : ports) {
    json.push_back({{"name", port.name}, {"dtype", port.dtype}});
    if (port.has_shape) json.back()["shape"] = port.shape;
  }
  return json;
}

}  // namespace

Json OpsetsJson(const SourceOutline& outline) {
  Json json = Json::object();
  for (const auto& [domain, version] : outline.opsets) json[domain] = version;
  return json;
}

std::string OpsetsText(const SourceOutline& outline) {
  std::string text;
  for (const auto& [domain, version] : outline.opsets)
    text += fmt::format("opset {} of {}\n", version, domain);
  return text;
}

Json OutlineJson(const std::string& path, const SourceOutline& outline, const std::string& problem) {
  Json json = {{"file", path},
               {"format", "ONNX"},
               {"problem", problem},
               {"graph", outline.graph},
               {"inputs", PortsJson(outline.inputs)},
               {"outputs", PortsJson(outline.outputs)},
               {"constant_bytes", outline.constant_bytes},
               {"nodes", outline.nodes},
               {"operators", outline.operators},
               {"opsets", OpsetsJson(outline)}};
  return json;
}

std::string OutlineText(const std::string& path, const SourceOutline& outline, const std::string& problem) {
  std::string text = fmt::format("{}: ONNX, graph '{}', {}, {} bytes of constants\n", path, outline.graph,
                                 Counted(outline.nodes, "node"), Grouped(outline.constant_bytes));
  text += OpsetsText(outline);
  for (const SourceOutline::Port& port : outline.inputs) text += fmt::format("input {}\n", PortText(port));
  for (const SourceOutline::Port& port : outline.outputs) text += fmt::format("output {}\n", PortText(port));
  text += fmt::format("cannot be converted as it is: {}\n", problem);
  Table table({{"operator"}, {"nodes", Table::Align::kRight}});
  for (const auto& [op, count] : outline.operators) table.Add({op, std::to_string(count)});
  return text + '\n' + table.ToString();
}

std::vector<std::string> BranchHints(const SourceOutline& outline, const FixedInputs& known, bool imported) {
  std::vector<std::string> hints;
  if (!outline.operators.contains("If")) return hints;
  constexpr size_t kMostNamed = 20;
  std::vector<std::string> open;
  std::set<std::string> named;
  for (const SourceOutline::Port& port : outline.inputs) {
    const bool one = port.has_shape && std::all_of(port.shape.begin(), port.shape.end(),
                                                   [](const std::string& extent) { return extent == "1"; });
    const bool whole = port.dtype.starts_with("i") || port.dtype.starts_with("u") || port.dtype == "bool";
    for (const std::string& extent : port.shape) {
      if (std::isdigit(static_cast<unsigned char>(extent[0])) == 0 && named.insert(extent).second)
        open.push_back(fmt::format(" --dim '{}=N'", extent));
    }
    if (!one || !whole || known.contains(port.name)) continue;
    hints.push_back(
        fmt::format("'{}' is one number, and the net has branches; where it is the same in every call, --set "
                    "'{}=NUMBER' makes it a constant, and only the branch counts that it chooses",
                    port.name, port.name));
  }
  if (!imported && !open.empty())
    hints.push_back(fmt::format(
        "branches may depend on sizes, too; what is the same in every call can be fixed with{}{}",
        fmt::join(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(std::min(open.size(), kMostNamed)),
                  ""),
        AndMore(open.size(), kMostNamed)));
  return hints;
}

}  // namespace skiff::cli
