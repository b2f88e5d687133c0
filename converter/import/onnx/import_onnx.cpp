#include "import/onnx/import_onnx.h"

#include <climits>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "graph/error.h"
#include "graph/nearest.h"
#include "import/onnx/builder.h"
#include "import/onnx/importer.h"
#include "import/onnx/outline.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace skiff {
namespace {

void CheckHasGraph(const onnx::ModelProto& model, const char* what) {
  if (!model.has_graph()) {
    Throw(StatusCode::kInvalidModel, "{} is not an ONNX model, or it is truncated: it has no graph", what);
  }
}

/// What is given in place of a model: how it begins, and the way from there.
struct OtherFile {
  std::string_view begin;
  const char* text;
};
constexpr OtherFile kOtherFiles[] = {
    {"PK\3\4",
     "a ZIP archive, as torch.save() and Keras write; torch.onnx.export(), or Keras's "
     "model.export(path, format=\"onnx\"), makes one"},
    {"\x80\2", "a Python pickle, as older versions of torch.save() write; torch.onnx.export() makes one"},
    {"\x89HDF", "an HDF5 file, as Keras writes; its model.export(path, format=\"onnx\") makes one"},
};

void CheckNoOther(std::string_view bytes, const char* what) {
  for (const OtherFile& other : kOtherFiles) {
    if (bytes.substr(0, other.begin.size()) == other.begin)
      Throw(StatusCode::kInvalidModel, "{} is not an ONNX model but {}", what, other.text);
  }
}

onnx::ModelProto ParseModel(const void* bytes, size_t size) {
  const char* what = "the model";
  CheckNoOther({static_cast<const char*>(bytes), size}, what);
  if (size > INT_MAX) {
    Throw(StatusCode::kInvalidModel, "{} has {} bytes; protobuf reads at most 2 GiB", what, size);
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes, static_cast<int>(size))) {
    Throw(StatusCode::kInvalidModel,
          "{} is not an ONNX model, or it is truncated or damaged: its {} bytes are not a protobuf message",
          what, size);
  }
  CheckHasGraph(model, what);
  return model;
}

onnx::ModelProto ParseModelFile(const std::string& path) {
  char begin[4] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  Within(path, [&] { CheckNoOther({begin, sizeof(begin)}, "the file"); });
  onnx::ModelProto model;
  ReadProtobufFile(path, "the file is not an ONNX model", model);
  Within(path, [&] { CheckHasGraph(model, "the file"); });
  return model;
}

/// Gives an input its number as an initializer, which makes it a constant.
void FixInput(onnx::GraphProto& graph, const std::string& name, double number) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    names.push_back(input.name());
    if (input.name() != name) continue;
    if (input.type().has_sequence_type() || input.type().has_optional_type()) return;  // How many it holds.
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
    const bool small_float = type.elem_type() == onnx::TensorProto::BFLOAT16;
    constant->set_data_type(small_float ? onnx::TensorProto::FLOAT : type.elem_type());
    for (const auto& dim : type.shape().dim()) constant->add_dims(dim.dim_value());
    constant->set_raw_data(data.data(), static_cast<size_t>(DTypeSize(dtype)));
    return;
  }
  Throw(StatusCode::kInvalidArgument, "the model has no input '{}'; its inputs are '{}'{}", name,
        fmt::join(names, "', '"), DidYouMean(name, names));
}

std::vector<std::string> InputNames(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) names.push_back(input.name());
  return names;
}

class OnnxSource : public SourceModel {
 public:
  /// An empty path is that of no file. `folder` is where external data may lie; "" forbids it.
  OnnxSource(onnx::ModelProto model, std::string path, std::string folder)
      : SourceModel({{kMainSignature, InputNames(model.graph())}}),
        model_(std::move(model)),
        path_(std::move(path)),
        folder_(std::move(folder)) {}

  /// The graph takes the elements over, so that they are in memory once; another import parses again.
  Graph Import(size_t, const ImportOptions& options) override {
    onnx::ModelProto model = model_ ? std::move(*model_) : ParseModelFile(path_);
    model_.reset();
    return Within(path_, [&] {
      for (const auto& [name, number] : options.fixed_inputs) FixInput(*model.mutable_graph(), name, number);
      return OnnxImporter(model, ExternalData(folder_, path_)).Import(options);
    });
  }

  std::vector<std::string> OtherFiles() override {
    if (!model_) model_ = ParseModelFile(path_);
    std::vector<std::string> files;
    for (const std::string& location : ExternalLocations(*model_)) files.push_back(folder_ + "/" + location);
    return files;
  }

  std::unique_ptr<SourceOutline> Outline() override {
    if (!model_) model_ = ParseModelFile(path_);
    return std::make_unique<SourceOutline>(OutlineOf(*model_));
  }

 private:
  std::optional<onnx::ModelProto> model_;
  std::string path_;
  std::string folder_;
};

}  // namespace

std::unique_ptr<SourceModel> OpenOnnx(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return std::make_unique<OnnxSource>(ParseModelFile(path), path, folder.empty() ? "." : folder);
}

Graph ImportOnnx(const std::string& path) { return OpenOnnx(path)->Import(0, {}); }

Graph ImportOnnxBytes(const void* bytes, size_t size, const std::string& folder, const FixedInputs& fixed,
                      const FixInputShapes& shapes) {
  return OnnxSource(ParseModel(bytes, size), "", folder).Import(0, {fixed, shapes});
}

TensorData ReadTensorProto(const std::string& path) {
  onnx::TensorProto tensor;
  ReadProtobufFile(path, "not an ONNX tensor", tensor);
  return Within(path, [&] { return WholeElements(ReadTensor(tensor, tensor.name())); });
}

}  // namespace skiff
