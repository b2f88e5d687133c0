/// Small ONNX models for tests of the importer, built in a few lines.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/proto.h"

namespace skiff {

struct OnnxModel {
  onnx::ModelProto proto;

  explicit OnnxModel(int64_t opset = 17) {
    proto.set_ir_version(8);
    auto* import = proto.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  onnx::ValueInfoProto* AddInput(const std::string& name, const std::vector<int64_t>& extents,
                                 int type = onnx::TensorProto::FLOAT) {
    auto* info = proto.mutable_graph()->add_input();
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    auto* shape = tensor->mutable_shape();
    for (int64_t extent : extents) shape->add_dim()->set_dim_value(extent);
    return info;
  }
  void AddOutput(const std::string& name) { proto.mutable_graph()->add_output()->set_name(name); }

  onnx::TensorProto* AddFloats(const std::string& name, const std::vector<int64_t>& extents,
                               const std::vector<float>& values) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t extent : extents) tensor->add_dims(extent);
    for (float value : values) tensor->add_float_data(value);
    return tensor;
  }
  void AddInts(const std::string& name, const std::vector<int64_t>& values) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (int64_t value : values) tensor->add_int64_data(value);
  }

  /// Of 8, 16 or 32 bits; of 4 bits, each number is a byte of two.
  void AddIntegers(const std::string& name, int type, const std::vector<int64_t>& extents,
                   const std::vector<int32_t>& values) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (int64_t extent : extents) tensor->add_dims(extent);
    for (int32_t value : values) tensor->add_int32_data(value);
  }
  void ImportMicrosoft() {
    auto* import = proto.add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
  }

  onnx::NodeProto* AddNode(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& name = "") {
    return Fill(proto.mutable_graph()->add_node(), op, inputs, outputs, name);
  }
  static onnx::NodeProto* Fill(onnx::NodeProto* node, const std::string& op,
                               const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs, const std::string& name = "") {
    node->set_op_type(op);
    node->set_name(name);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return node;
  }

  std::string Bytes() const { return proto.SerializeAsString(); }
  Graph Import(const std::string& folder = "") const {
    const std::string bytes = Bytes();
    return ImportOnnxBytes(bytes.data(), bytes.size(), folder);
  }
};

inline void SetInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}
inline void SetFloat(onnx::NodeProto* node, const std::string& name, float value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}
inline void SetString(onnx::NodeProto* node, const std::string& name, const std::string& value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}
inline void SetInts(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}
/// A TfIdfVectorizer of one number, whose result has 2^22 elements: a constant of 32 MiB.
inline void MakeLargeTable(onnx::NodeProto* node) {
  SetString(node, "mode", "TF");
  for (const char* one : {"min_gram_length", "max_gram_length"}) SetInt(node, one, 1);
  SetInt(node, "max_skip_count", 0);
  SetInts(node, "pool_int64s", {5});
  SetInts(node, "ngram_counts", {0});
  SetInts(node, "ngram_indexes", {(1 << 22) - 1});
}
inline void SetFloats(onnx::NodeProto* node, const std::string& name, const std::vector<float>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOATS);
  for (float value : values) attribute->add_floats(value);
}

/// A sub-graph, and a node in one.
inline onnx::GraphProto* AddBody(onnx::NodeProto* node, const std::string& name) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name(name);
  return attribute->mutable_g();
}
inline onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op,
                                const std::vector<std::string>& inputs, const std::string& output) {
  return OnnxModel::Fill(graph->add_node(), op, inputs, {output});
}

inline TensorData Floats(const Shape& shape, const std::vector<float>& values) {
  return TensorData(DType::kF32, shape, values.data());
}
template <class T>
TensorData Integers(DType dtype, const Shape& shape, const std::vector<T>& values) {
  return TensorData(dtype, shape, values.data());
}
/// 0, 1, 2, ...
inline TensorData Counting(const Shape& shape) {
  TensorData data(DType::kF32, shape);
  for (int64_t i = 0; i < data.elements(); ++i)
    static_cast<float*>(data.mutable_data())[i] = static_cast<float>(i);
  return data;
}

/// Imports and evaluates; the model's only output.
inline TensorData RunModel(const OnnxModel& model, const std::map<std::string, TensorData>& inputs) {
  return Evaluate(model.Import(), inputs).at(model.proto.graph().output(0).name());
}
inline std::vector<float> AsFloats(const TensorData& data) {
  const std::vector<double> wide = data.ToDoubles();
  return std::vector<float>(wide.begin(), wide.end());
}

/// The error that importing ends with; fails the test when there is none.
inline Error ImportError(const OnnxModel& model, const std::string& folder = "") {
  try {
    model.Import(folder);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the import succeeded";
  return Error(StatusCode::kOk, "");
}

/// A folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "skiff_import_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace skiff
