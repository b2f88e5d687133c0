#include "import/onnx/import_onnx.h"

#include <climits>
#include <filesystem>

#include "graph/error.h"
#include "import/onnx/builder.h"
#include "import/onnx/importer.h"
#include "import/onnx/tensor.h"

namespace skiff {
namespace {

onnx::ModelProto ParseModel(const void* bytes, size_t size, const char* what) {
  if (size > INT_MAX) {
    Throw(StatusCode::kInvalidModel, "{} has {} bytes; protobuf reads at most 2 GiB", what, size);
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes, static_cast<int>(size))) {
    Throw(StatusCode::kInvalidModel,
          "{} is not an ONNX model, or it is truncated or damaged: its {} bytes are not a protobuf message",
          what, size);
  }
  if (!model.has_graph()) {
    Throw(StatusCode::kInvalidModel, "{} is not an ONNX model, or it is truncated: it has no graph", what);
  }
  return model;
}

/// The file's bytes are gone when this returns: a large model is in memory twice at most.
onnx::ModelProto ParseModelFile(const std::string& path) {
  const std::string bytes = ReadProtobufFile(path);
  try {
    return ParseModel(bytes.data(), bytes.size(), "the file");
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
  }
}

/// Gives an input its number as an initializer, which makes it a constant.
void FixInput(onnx::GraphProto& graph, const std::string& name, double number) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    names.push_back(input.name());
    if (input.name() != name) continue;
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    const DType dtype = DTypeOfOnnx(type.elem_type());
    bool one = dtype != DType::kInvalid && type.has_shape();
    for (const auto& dim : type.shape().dim()) one &= dim.has_dim_value() && dim.dim_value() == 1;
    if (!one)
      Throw(StatusCode::kInvalidArgument, "input '{}' cannot be fixed: it is not a tensor of one element",
            name);
    const TensorData data = MakeConstant(dtype, Shape{}, {number});
    if (data.ToDoubles()[0] != number)
      Throw(StatusCode::kInvalidArgument, "input '{}' cannot be fixed: {} is no {}", name, number,
            DTypeName(dtype));
    onnx::TensorProto* constant = graph.add_initializer();
    constant->set_name(name);
    constant->set_data_type(type.elem_type());
    for (const auto& dim : type.shape().dim()) constant->add_dims(dim.dim_value());
    constant->set_raw_data(data.data(), static_cast<size_t>(DTypeSize(dtype)));
    return;
  }
  Throw(StatusCode::kInvalidArgument, "the model has no input '{}'; its inputs are '{}'", name,
        fmt::join(names, "', '"));
}

void FixInputs(onnx::GraphProto& graph, const FixedInputs& fixed) {
  for (const auto& [name, number] : fixed) FixInput(graph, name, number);
}

}  // namespace

Graph ImportOnnx(const std::string& path, const FixedInputs& fixed, const FixInputShapes& shapes) {
  onnx::ModelProto model = ParseModelFile(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  try {
    FixInputs(*model.mutable_graph(), fixed);
    return OnnxImporter(model, folder.empty() ? "." : folder).Import(shapes);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
  }
}

Graph ImportOnnxBytes(const void* bytes, size_t size, const std::string& folder, const FixedInputs& fixed,
                      const FixInputShapes& shapes) {
  onnx::ModelProto model = ParseModel(bytes, size, "the model");
  FixInputs(*model.mutable_graph(), fixed);
  return OnnxImporter(model, folder).Import(shapes);
}

TensorData ReadTensorProto(const std::string& path) {
  const std::string bytes = ReadProtobufFile(path);
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(bytes)) {
    Throw(StatusCode::kInvalidModel,
          "{}: not an ONNX tensor, or truncated: its {} bytes are not a protobuf message", path,
          bytes.size());
  }
  try {
    return ReadTensor(tensor, "", tensor.name());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace skiff
