#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "cli/image_options.h"
#include "cli/inspect.h"
#include "cli/plan_table.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "format/model_data.h"
#include "graph/bodies.h"
#include "graph/counted.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "run/sizes.h"

namespace skiff::cli {
namespace {

std::vector<int64_t> Extents(const Shape& shape) { return {shape.begin(), shape.end()}; }
std::string TypeText(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", DTypeName(dtype), ShapeText(shape).c_str());
}

/// Numbers, and the names of open dimensions ("?" for those that only a run knows).
Json ShapeJson(Span<const SymbolInfo> symbols, const PortInfo& port) {
  Json json = Json::array();
  const std::vector<std::string> names = AxisTexts(symbols, port);
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    if (port.shape[axis] >= 0) {
      json.push_back(port.shape[axis]);
    } else {
      json.push_back(names[static_cast<size_t>(axis)]);
    }
  }
  return json;
}

Json SymbolJson(const SymbolInfo& symbol) {
  return {{"name", symbol.name},
          {"min", symbol.min},
          {"max", MaximumJson(symbol.max)},
          {"multiple", symbol.multiple}};
}

Json SymbolsJson(const ModelData& model) {
  Json json = Json::array();
  for (const SymbolInfo& symbol : model.symbols) json.push_back(SymbolJson(symbol));
  return json;
}

Json SymbolsJson(const ModelSignature& signature) {
  Json json = Json::array();
  const Span<const SymbolInfo> symbols = signature.model().symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (signature.Has(i)) json.push_back(SymbolJson(symbols[i]));
  }
  return json;
}

Json PortsJson(Span<const SymbolInfo> symbols, Span<const PortInfo> ports) {
  Json json = Json::array();
  for (const PortInfo& port : ports) {
    Json entry = {{"name", port.name}, {"dtype", DTypeName(port.dtype)}, {"shape", ShapeJson(symbols, port)}};
    if (port.quantization != nullptr) entry["quantization"] = QuantizationJson(port.quantization);
    if (port.image.width > 0) {
      const ImageSpec& image = port.image;
      entry["image"] = {{"width", image.width},
                        {"height", image.height},
                        {"mean", std::vector<float>(image.mean, image.mean + image.channels)},
                        {"scale", std::vector<float>(image.scale, image.scale + image.channels)},
                        {"order", image.bgr ? "bgr" : "rgb"},
                        {"layout", image.nhwc ? "nhwc" : "nchw"},
                        {"fit", FitName(image.fit)},
                        {"filter", FilterName(image.filter)}};
      if (image.resize != 0) entry["image"]["resize"] = image.resize;
      if (image.fit == ImageFit::kLetterbox) entry["image"]["fill"] = image.fill;
    }
    if (!port.labels.empty())
      entry["labels"] = std::vector<std::string>(port.labels.begin(), port.labels.end());
    json.push_back(std::move(entry));
  }
  return json;
}

const PlanTensor* TensorAt(const PlanData& plan, int32_t index) {
  return index < 0 ? nullptr : &plan.tensors[static_cast<size_t>(index)];
}

std::map<std::string, size_t> OperatorCounts(const PlanData& plan) {
  std::map<std::string, size_t> counts;
  for (const PlanNode& node : plan.nodes) ++counts[node.op->name];
  return counts;
}

size_t CountOf(const PlanData& plan, OpCode op) {
  size_t count = 0;
  for (const PlanNode& node : plan.nodes) count += node.op->code == op ? 1 : 0;
  return count;
}

/// Where a constant is narrower in the file.
Json StoredJson(const TensorPlacement& placement, const Shape& shape) {
  Json json = {{"dtype", DTypeName(placement.stored)},
               {"bytes", ElementBytes(placement.stored, shape.elements())}};
  if (placement.stored_quantization != nullptr)
    json["quantization"] = QuantizationJson(placement.stored_quantization);
  return json;
}

Json TensorsJson(const PlanData& plan, Span<const int32_t> indices) {
  Json json = Json::array();
  for (const int32_t index : indices) {
    const PlanTensor* tensor = TensorAt(plan, index);
    if (tensor == nullptr) {
      json.push_back(nullptr);
    } else {
      json.push_back({{"tensor", index},
                      {"name", tensor->name},
                      {"dtype", DTypeName(tensor->view.dtype)},
                      {"shape", Extents(tensor->view.shape)},
                      {"constant", tensor->constant}});
      if (tensor->view.quantization != nullptr)
        json.back()["quantization"] = QuantizationJson(tensor->view.quantization);
      const TensorPlacement& placement = plan.placements[static_cast<size_t>(index)];
      if (tensor->constant) json.back()["bytes"] = tensor->view.bytes();
      if (placement.stored != DType::kInvalid)
        json.back()["stored"] = StoredJson(placement, tensor->view.shape);
    }
  }
  return json;
}

Json NodesJson(const PlanData& plan) {
  Json json = Json::array();
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    json.push_back({{"name", node.name},
                    {"operator", node.op->name},
                    {"attributes", PrintAttrs(node.op->code, *node.attrs)},
                    {"delegate", DelegateText(DelegateOf(plan, i))},
                    {"shape_program", i < plan.shape_node_count},
                    {"inputs", TensorsJson(plan, node.inputs)},
                    {"outputs", TensorsJson(plan, node.outputs)}});
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      const PlanData& body = node.bodies[b];
      json.back()["bodies"].push_back({{"name", BodyNames(node.op->code)[b]},
                                       {"kind", BucketKindName(body.kind)},
                                       {"arena_bytes", body.arena_bytes},
                                       {"nodes", NodesJson(body)}});
    }
  }
  return json;
}

/// Those of a body are indented under their node.
void AddNodes(Table& table, const PlanData& plan, const std::string& indent) {
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    std::string inputs;
    for (const int32_t index : node.inputs) {
      const PlanTensor* tensor = TensorAt(plan, index);
      if (tensor == nullptr) continue;
      inputs += fmt::format("{}{}{}", inputs.empty() ? "" : " ", ShapeText(tensor->view.shape).c_str(),
                            tensor->constant ? "c" : "");
      if (const DType stored = plan.placements[static_cast<size_t>(index)].stored; stored != DType::kInvalid)
        inputs += fmt::format("({})", DTypeName(stored));
    }
    const TensorView& output = TensorAt(plan, node.outputs[0])->view;
    const std::string attrs = PrintAttrs(node.op->code, *node.attrs);
    table.Add({std::to_string(i), indent + Shortened(node.name, 40),
               attrs.empty() ? node.op->name : fmt::format("{} {}", node.op->name, attrs),
               i < plan.shape_node_count ? "shape program" : DelegateText(DelegateOf(plan, i)), inputs,
               TypeText(output.dtype, output.shape) + ShortQuantizationText(output.quantization)});
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      table.Add({"", fmt::format("{}  {}:", indent, BodyNames(node.op->code)[b]), "", "", "", ""});
      AddNodes(table, node.bodies[b], indent + "    ");
    }
  }
}

std::string NodesText(const PlanData& plan) {
  using Align = Table::Align;
  Table table({{"#", Align::kRight},
               {"node", Align::kLeft, true},
               {"operator"},
               {"delegate"},
               {"inputs"},
               {"output"}});
  AddNodes(table, plan, "");
  return table.ToString() + "(c: constant; c(f16): f16 in the file)\n";
}

std::string DimensionsText(const ModelSignature& signature, const char* indent) {
  std::string text;
  const Span<const SymbolInfo> symbols = signature.model().symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (signature.Has(i))
      text += fmt::format("{}dimension '{}': {}\n", indent, symbols[i].name,
                          RangeText(symbols[i].min, symbols[i].max, symbols[i].multiple));
  }
  return text;
}

std::string PlanText(const PlanData& plan, size_t index) {
  std::string counts;
  for (const auto& [op, count] : OperatorCounts(plan))
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", op, count);
  return fmt::format("  plan {}: {} in {}, {}\n{}\n", index, DelegateCounts(plan.segments),
                     Counted(plan.segments.size(), "segment"),
                     Counted(CountOf(plan, OpCode::kTranspose), "layout transpose"),
                     Folded("    operators: " + (counts.empty() ? "none" : counts), 6));
}

/// A list of thousands of lines by its ends.
std::string Abbreviated(std::string_view value) {
  const size_t end = value.find('\n');
  if (end == std::string_view::npos) return std::string(value);
  return fmt::format("{} lines: {}, ..., {}", 1 + std::count(value.begin(), value.end(), '\n'),
                     value.substr(0, end), value.substr(value.rfind('\n') + 1));
}

/// By their ends, where there are more.
template <class Labels>
std::string LabelsText(const Labels& labels) {
  const std::string count = Counted(labels.size(), "label");
  if (labels.size() == 1) return fmt::format("{}: {}", count, labels[0]);
  return fmt::format("{}: {}, {}{}", count, labels[0], labels.size() == 2 ? "" : "..., ",
                     labels[labels.size() - 1]);
}

}  // namespace

Json QuantizationJson(const Quantization* quantization) {
  if (quantization == nullptr) return nullptr;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < quantization->count; ++i) {
    scales.push_back(quantization->ScaleAt(i));
    zero_points.push_back(quantization->ZeroPointAt(i));
  }
  Json json = {{"scale", scales}, {"zero_point", zero_points}};
  if (!quantization->per_tensor()) json["axis"] = quantization->axis;
  if (quantization->block > 0) json["block"] = quantization->block;
  return json;
}

Json SkiffJson(const std::string& path, const Model& model, bool nodes) {
  const ModelData& data = model.data();
  Json json = {{"file", path},
               {"format", "skiff"},
               {"format_version", data.format_version},
               {"producer", data.producer},
               {"file_bytes", data.file_bytes},
               {"weights_bytes", data.weights_bytes},
               {"widened_bytes", data.wide_weights.most_bytes()},
               {"metadata", Json::object()},
               {"symbols", SymbolsJson(data)},
               {"signatures", Json::array()}};
  for (const MetadataEntry& entry : data.metadata) json["metadata"][entry.key] = entry.value;
  for (size_t s = 0; s < data.signatures.size(); ++s) {
    const SignatureData& signature = data.signatures[s];
    Json plans = Json::array();
    for (const PlanData& plan : signature.plans) {
      Json entry = PlanJson(data, plan);
      entry.update(
          {{"layout_transposes", CountOf(plan, OpCode::kTranspose)}, {"operators", OperatorCounts(plan)}});
      if (nodes) entry["nodes"] = NodesJson(plan);
      plans.push_back(std::move(entry));
    }
    json["signatures"].push_back({{"name", signature.name},
                                  {"symbols", SymbolsJson(ModelSignature(model, static_cast<int>(s)))},
                                  {"inputs", PortsJson(data.symbols, signature.caller_inputs())},
                                  {"outputs", PortsJson(data.symbols, signature.caller_outputs())},
                                  {"plans", std::move(plans)}});
  }
  json["variables"] = Json::array();
  for (const VariableInfo& variable : data.variables) {
    const Shape& shape = variable.initial.shape;
    json["variables"].push_back({{"name", variable.name},
                                 {"dtype", DTypeName(variable.initial.dtype)},
                                 {"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
  }
  return json;
}

std::string SkiffText(const std::string& path, const Model& model, bool nodes) {
  const ModelData& data = model.data();
  std::string text =
      fmt::format("{}: Skiff format {}, made by {}\n", path, data.format_version, data.producer);
  text += fmt::format("{} bytes, of which {} are weights\n", Grouped(data.file_bytes),
                      Grouped(data.weights_bytes));
  if (const uint64_t widened = data.wide_weights.most_bytes(); widened > 0)
    text += fmt::format("{} bytes of weights in memory are narrower in the file\n", Grouped(widened));
  // Those of several signatures are different ones, whatever their names.
  const bool several = data.signatures.size() > 1;
  if (!several) text += DimensionsText(model, "");
  for (const MetadataEntry& entry : data.metadata)
    text += Folded(fmt::format("{}: {}", entry.key, Abbreviated(entry.value)), 2) + '\n';
  for (const VariableInfo& variable : data.variables)
    text += fmt::format("variable '{}' {}{}\n", variable.name, DTypeName(variable.initial.dtype),
                        ShapeText(variable.initial.shape).c_str());
  for (size_t s = 0; s < data.signatures.size(); ++s) {
    const SignatureData& signature = data.signatures[s];
    text += fmt::format("signature '{}'\n", signature.name);
    if (several) text += DimensionsText(ModelSignature(model, static_cast<int>(s)), "  ");
    for (const PortInfo& port : signature.caller_inputs())
      text += Folded(fmt::format("  input '{}' {}{}", port.name, OpenTypeText(data.symbols, port),
                                 ImageText(port.image)),
                     4) +
              '\n';
    for (const PortInfo& port : signature.caller_outputs()) {
      text += fmt::format("  output '{}' {}", port.name, OpenTypeText(data.symbols, port));
      if (!port.labels.empty()) text += ", " + LabelsText(port.labels);
      text += '\n';
    }
    text += '\n' + PlansTable(data, {&signature, 1}) + '\n';
    for (size_t i = 0; i < signature.plans.size(); ++i) {
      text += PlanText(signature.plans[i], i);
      if (nodes) text += '\n' + NodesText(signature.plans[i]);
    }
  }
  return text;
}

}  // namespace skiff::cli
