#include "import/onnx/outline.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>

#include "import/onnx/importer.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace skiff {
namespace {

/// What the importer calls a dimension; inputs with a placeholder get a name.
std::string DimText(const onnx::TensorShapeProto::Dimension& dim, const std::string& unnamed) {
  // Exporters write 0 for an extent that they do not know.
  if (dim.has_dim_value() && dim.dim_value() > 0) return std::to_string(dim.dim_value());
  return IsPlaceholder(dim.dim_param()) ? unnamed : dim.dim_param();
}

SourceOutline::Port PortOf(const onnx::ValueInfoProto& info, bool input) {
  SourceOutline::Port port;
  port.name = info.name();
  const onnx::TypeProto* of = &info.type();
  std::string around;
  if (of->has_optional_type()) {
    around = "optional ";
    of = &of->optional_type().elem_type();
  }
  if (of->has_sequence_type()) {
    around += "sequence of ";
    of = &of->sequence_type().elem_type();
  }
  if (!of->has_tensor_type()) {
    port.dtype = "no tensor";
    return port;
  }
  const onnx::TypeProto::Tensor& type = of->tensor_type();
  const DType dtype = DTypeOfOnnx(type.elem_type());
  port.dtype = around + (dtype == DType::kInvalid ? OnnxTypeName(type.elem_type()) : DTypeName(dtype));
  port.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim())
    port.shape.push_back(DimText(dim, input ? fmt::format("{}#{}", info.name(), port.shape.size()) : "?"));
  return port;
}

/// What the tensor's elements take, as far as the message says it: those in files by the length that it
/// states.
uint64_t BytesOf(const onnx::TensorProto& tensor) {
  uint64_t bytes = tensor.raw_data().size() + 4 * static_cast<uint64_t>(tensor.float_data_size()) +
                   8 * static_cast<uint64_t>(tensor.double_data_size() + tensor.int64_data_size() +
                                             tensor.uint64_data_size()) +
                   4 * static_cast<uint64_t>(tensor.int32_data_size());
  for (const auto& entry : tensor.external_data()) {
    uint64_t length = 0;
    if (entry.key() == "length")
      std::from_chars(entry.value().data(), entry.value().data() + entry.value().size(), length);
    bytes += length;
  }
  return bytes;
}

/// Told of each node and each constant, also in bodies and functions.
struct Visitor {
  std::function<void(const onnx::NodeProto& node)> node;
  std::function<void(const onnx::TensorProto& tensor)> tensor;
};

void VisitGraph(const onnx::GraphProto& graph, const Visitor& visitor);

void VisitNode(const onnx::NodeProto& node, const Visitor& visitor) {
  visitor.node(node);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) visitor.tensor(attribute.t());
    for (const onnx::TensorProto& tensor : attribute.tensors()) visitor.tensor(tensor);
    if (attribute.has_g()) VisitGraph(attribute.g(), visitor);
    for (const onnx::GraphProto& body : attribute.graphs()) VisitGraph(body, visitor);
  }
}

void VisitGraph(const onnx::GraphProto& graph, const Visitor& visitor) {
  for (const onnx::TensorProto& tensor : graph.initializer()) visitor.tensor(tensor);
  for (const onnx::NodeProto& node : graph.node()) VisitNode(node, visitor);
}

void Visit(const onnx::ModelProto& model, const Visitor& visitor) {
  VisitGraph(model.graph(), visitor);
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const onnx::NodeProto& node : function.node()) VisitNode(node, visitor);
  }
}

}  // namespace

SourceOutline OutlineOf(const onnx::ModelProto& model) {
  SourceOutline outline;
  outline.graph = model.graph().name();
  for (const auto& opset : model.opset_import())
    outline.opsets.emplace_back(opset.domain().empty() ? "ai.onnx" : opset.domain(), opset.version());
  std::set<std::string> constants;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) constants.insert(tensor.name());
  for (const auto& input : model.graph().input()) {
    if (!constants.contains(input.name())) outline.inputs.push_back(PortOf(input, true));
  }
  for (const auto& output : model.graph().output()) outline.outputs.push_back(PortOf(output, false));
  Visit(model, {[&](const onnx::NodeProto& node) {
                  const bool own = node.domain().empty() || node.domain() == "ai.onnx";
                  ++outline.operators[own ? node.op_type() : node.domain() + "." + node.op_type()];
                  ++outline.nodes;
                },
                [&](const onnx::TensorProto& tensor) { outline.constant_bytes += BytesOf(tensor); }});
  return outline;
}

std::set<std::string> ExternalLocations(const onnx::ModelProto& model) {
  std::set<std::string> locations;
  Visit(model, {[](const onnx::NodeProto&) {},
                [&](const onnx::TensorProto& tensor) {
                  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
                  for (const auto& entry : tensor.external_data()) {
                    if (entry.key() == "location") locations.insert(entry.value());
                  }
                }});
  return locations;
}

}  // namespace skiff
