#include "cli/dot.h"

#include <fmt/format.h>

#include <map>

#include "cli/plan_table.h"
#include "cli/table.h"
#include "format/model_data.h"
#include "graph/bodies.h"
#include "graph/text.h"

namespace skiff::cli {
namespace {

std::string DotQuoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    quoted += letter;
    if (letter == '\n') quoted.replace(quoted.size() - 1, 1, "\\n");
  }
  return quoted + '"';
}

const char* ColourOf(DelegateKind delegate) {
  switch (delegate) {
    case DelegateKind::kXnnpack:
      return "#d6e8fa";
    case DelegateKind::kVulkan:
      return "#d9f2d9";
    case DelegateKind::kReference:
      return "#fbe3c0";
    default:
      return "#e8e8e8";
  }
}

/// A tensor, and the box that makes it.
struct Made {
  std::string box;
  std::string type;
};

/// Writes boxes and arrows; `Key` is how a graph knows its tensors.
template <class Key>
class Drawing {
 public:
  explicit Drawing(std::string& text, std::string prefix) : text_(text), prefix_(std::move(prefix)) {}

  std::string Box(const std::string& label, const char* shape, const char* colour) {
    const std::string id = fmt::format("{}{}", prefix_, next_++);
    text_ += fmt::format("  {} [label={}, shape={}, fillcolor={}];\n", id, DotQuoted(label), shape,
                         DotQuoted(colour));
    return id;
  }
  void Makes(Key tensor, const std::string& box, std::string type) { made_[tensor] = {box, std::move(type)}; }
  void Reads(Key tensor, const std::string& box) {
    const auto from = made_.find(tensor);
    if (from == made_.end()) return;
    text_ += fmt::format("  {} -> {} [label={}];\n", from->second.box, box, DotQuoted(from->second.type));
  }
  std::string Prefix() { return fmt::format("{}{}_", prefix_, next_++); }

 private:
  std::string& text_;
  std::string prefix_;
  size_t next_ = 0;
  std::map<Key, Made> made_;
};

constexpr const char* kPortColour = "#ffffff";

/// Around a body, and around each of several signatures.
template <class Draw>
void Cluster(std::string& text, const std::string& prefix, const std::string& label, const Draw& draw) {
  text += fmt::format("  subgraph cluster_{} {{\n  label={};\n", prefix, DotQuoted(label));
  draw();
  text += "  }\n";
}

std::string TypeText(const Graph& graph, const Value& value) {
  std::vector<std::string> extents;
  const auto name = [&](SymbolId id) { return graph.symbols()[static_cast<size_t>(id)].name; };
  for (const Dim& dim : value.dims) extents.push_back(dim.Text(name));
  if (value.dtype == DType::kInvalid) return "";
  const char* dtype = DTypeName(value.dtype);
  return value.has_shape ? fmt::format("{} [{}]", dtype, fmt::join(extents, ", ")) : dtype;
}

void Draw(std::string& text, const std::string& prefix, const Graph& graph) {
  Drawing<ValueId> drawing(text, prefix);
  for (const GraphPort& port : graph.inputs())
    drawing.Makes(port.value, drawing.Box(port.name, "ellipse", kPortColour),
                  TypeText(graph, graph.value(port.value)));
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    std::string label = fmt::format("{}\n{}", OpName(node.op), Shortened(node.name, 40));
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && graph.value(input).constant)
        label += "\nconstant " + TypeText(graph, graph.value(input));
    }
    const std::string box = drawing.Box(label, "box", "#e8e8e8");
    for (const ValueId input : node.inputs) drawing.Reads(input, box);
    for (const ValueId output : node.outputs)
      drawing.Makes(output, box, TypeText(graph, graph.value(output)));
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      const std::string inner = drawing.Prefix();
      Cluster(text, inner, fmt::format("{}: {}", Shortened(node.name, 40), BodyNames(node.op)[i]),
              [&] { Draw(text, inner, node.bodies[i]); });
    }
  }
  for (const GraphPort& port : graph.outputs())
    drawing.Reads(port.value, drawing.Box(port.name, "ellipse", kPortColour));
}

std::string TypeText(const PlanTensor& tensor) {
  std::vector<std::string> extents;
  for (const int64_t extent : tensor.view.shape) extents.push_back(extent < 0 ? "?" : std::to_string(extent));
  return fmt::format("{} [{}]", DTypeName(tensor.view.dtype), fmt::join(extents, ", "));
}

void Draw(std::string& text, const std::string& prefix, const PlanData& plan) {
  Drawing<int32_t> drawing(text, prefix);
  const auto tensor = [&](int32_t index) -> const PlanTensor& {
    return plan.tensors[static_cast<size_t>(index)];
  };
  for (const int32_t input : plan.inputs)
    drawing.Makes(input, drawing.Box(tensor(input).name, "ellipse", kPortColour), TypeText(tensor(input)));
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    const bool of_shapes = i < plan.shape_node_count;
    const DelegateKind delegate = DelegateOf(plan, i);
    std::string label = fmt::format("{}\n{}\n{}", node.op->name, Shortened(node.name, 40),
                                    of_shapes ? "shape program" : DelegateText(delegate));
    for (const int32_t input : node.inputs) {
      if (input >= 0 && tensor(input).constant) label += "\nconstant " + TypeText(tensor(input));
    }
    const std::string box = drawing.Box(label, "box", of_shapes ? "#eeeeee" : ColourOf(delegate));
    for (const int32_t input : node.inputs) drawing.Reads(input, box);
    for (const int32_t output : node.outputs) drawing.Makes(output, box, TypeText(tensor(output)));
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      const std::string inner = drawing.Prefix();
      Cluster(text, inner, fmt::format("{}: {}", Shortened(node.name, 40), BodyNames(node.op->code)[b]),
              [&] { Draw(text, inner, node.bodies[b]); });
    }
  }
  for (const int32_t output : plan.outputs)
    drawing.Reads(output, drawing.Box(tensor(output).name, "ellipse", kPortColour));
}

std::string Digraph(const std::string& body) {
  return "digraph skiff {\n  node [style=filled, fontname=\"sans-serif\", fontsize=10];\n"
         "  edge [fontname=\"sans-serif\", fontsize=8];\n" +
         body + "}\n";
}

/// One signature stands alone, several have a frame each.
template <class Signatures, class NameOf, class DrawOne>
std::string DrawAll(const Signatures& signatures, const NameOf& name_of, const DrawOne& draw) {
  std::string text;
  size_t i = 0;
  for (const auto& signature : signatures) {
    const std::string prefix = fmt::format("s{}_", i++);
    if (signatures.size() == 1) {
      draw(text, prefix, signature);
    } else {
      Cluster(text, prefix, name_of(signature), [&] { draw(text, prefix, signature); });
    }
  }
  return Digraph(text);
}

}  // namespace

std::string SourceDot(const std::vector<NamedGraph>& signatures) {
  return DrawAll(
      signatures, [](const NamedGraph& signature) { return signature.name; },
      [](std::string& text, const std::string& prefix, const NamedGraph& signature) {
        Draw(text, prefix, signature.graph);
      });
}

std::string SkiffDot(const Model& model) {
  return DrawAll(
      model.data().signatures, [](const SignatureData& signature) { return std::string(signature.name); },
      [](std::string& text, const std::string& prefix, const SignatureData& signature) {
        Draw(text, prefix, signature.plans[0]);
      });
}

}  // namespace skiff::cli
