#include "import/onnx.h"

#include <climits>
#include <filesystem>

#include "graph/error.h"
#include "import/onnx_importer.h"
#include "import/onnx_tensor.h"

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

}  // namespace

Graph ImportOnnx(const std::string& path) {
  const onnx::ModelProto model = ParseModelFile(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  try {
    return OnnxImporter(model, folder.empty() ? "." : folder).Import();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
  }
}

Graph ImportOnnxBytes(const void* bytes, size_t size, const std::string& folder) {
  const onnx::ModelProto model = ParseModel(bytes, size, "the model");
  return OnnxImporter(model, folder).Import();
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
