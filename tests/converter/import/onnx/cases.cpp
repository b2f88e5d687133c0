#include "tests/converter/import/onnx/cases.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx-data_pb.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/ops.h"
#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"
#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;

namespace pb = ::onnx;
using NamedTensors = std::vector<std::pair<std::string, TensorData>>;

/// The older release's cases have bfloat16 as u16, its bits.
TensorData Widened(TensorData data, const pb::TypeProto& type) {
  if (type.tensor_type().elem_type() != pb::TensorProto::BFLOAT16 || data.dtype() != DType::kU16) return data;
  TensorData wide(DType::kF32, data.shape());
  for (int64_t i = 0; i < data.elements(); ++i)
    static_cast<float*>(wide.mutable_data())[i] =
        std::bit_cast<float>(static_cast<uint32_t>(data.as<uint16_t>()[i]) << 16);
  return wide;
}

NamedTensors PartsOf(const pb::SequenceProto& sequence, const std::string& name) {
  NamedTensors parts;
  for (const pb::TensorProto& tensor : sequence.tensor_values())
    parts.emplace_back(fmt::format("{}.{}", name, parts.size()), ReadTensor(tensor, name));
  return parts;
}

/// The tensors of a port, under the names that the importer gives them.
NamedTensors ReadPort(const fs::path& folder, const char* kind, int index, const pb::ValueInfoProto& port) {
  const std::string path = (folder / fmt::format("{}_{}.pb", kind, index)).string();
  const std::string& name = port.name();
  if (port.type().has_optional_type()) {
    pb::OptionalProto optional;
    ReadProtobufFile(path, "not an optional", optional);
    if (optional.has_sequence_value()) return PartsOf(optional.sequence_value(), name);
    if (!optional.has_tensor_value()) return {};
    return {{name, ReadTensor(optional.tensor_value(), name)}};
  }
  if (port.type().has_sequence_type()) {
    pb::SequenceProto sequence;
    ReadProtobufFile(path, "not a sequence", sequence);
    return PartsOf(sequence, name);
  }
  return {{name, Widened(ReadTensorProto(path), port.type())}};
}

pb::TypeProto* ElementType(pb::TypeProto* type) {
  if (type->has_optional_type()) type = type->mutable_optional_type()->mutable_elem_type();
  if (type->has_sequence_type()) type = type->mutable_sequence_type()->mutable_elem_type();
  return type;
}

/// How many tensors inputs hold, as the data have it, and of which rank where the model does not say it.
FixedInputs FixSequences(pb::ModelProto& model, const fs::path& set) {
  FixedInputs counts;
  for (int i = 0; i < model.graph().input_size(); ++i) {
    pb::ValueInfoProto& input = *model.mutable_graph()->mutable_input(i);
    if (!input.type().has_sequence_type() && !input.type().has_optional_type()) continue;
    const NamedTensors parts = ReadPort(set, "input", i, input);
    counts[input.name()] = static_cast<double>(parts.size());
    auto& type = *ElementType(input.mutable_type())->mutable_tensor_type();
    if (parts.empty() || type.has_shape()) continue;
    type.mutable_shape();
    for (int axis = 0; axis < parts[0].second.shape().rank(); ++axis) type.mutable_shape()->add_dim();
  }
  return counts;
}

/// Inputs from one on become initializers.
void MakeInputsConstant(pb::ModelProto& model, const fs::path& set, int first) {
  for (int i = first; i < model.graph().input_size(); ++i) {
    if (!model.graph().input(i).type().has_tensor_type()) continue;
    pb::TensorProto* tensor = model.mutable_graph()->add_initializer();
    ReadProtobufFile((set / fmt::format("input_{}.pb", i)).string(), "not a tensor", *tensor);
    tensor->set_name(model.graph().input(i).name());
  }
}

std::vector<OnnxCase> CasesIn(const fs::path& folder, const std::string& suite) {
  std::vector<OnnxCase> cases;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    // The data of these contradict their models in the older release.
    const std::string name = entry.path().filename().string();
    if (suite == "node" && name.starts_with("test_castlike") && name.find("BFLOAT16") != std::string::npos)
      continue;
    if (fs::exists(entry.path() / "model.onnx")) {
      cases.push_back({suite, entry.path().filename().string(), entry.path().string()});
    }
  }
  return cases;
}

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The same model and expected output.
bool IsSameCase(const fs::path& a, const fs::path& b) {
  for (const char* file : {"model.onnx", "test_data_set_0/output_0.pb"}) {
    if (!fs::exists(a / file) || !fs::exists(b / file)) return false;
    if (BytesOf(a / file) != BytesOf(b / file)) return false;
  }
  return true;
}

/// Whether both branches of every If make sense, where the graph's inputs decide between them.
bool BranchesAgree(Graph graph) {
  bool branches = false;
  for (NodeId id = 0; id < graph.node_count(); ++id) branches |= graph.node(id).op == OpCode::kIf;
  if (!branches) return true;
  try {
    InferShapes(graph);
  } catch (const Error&) {
    return false;
  }
  return true;
}

Graph ImportCase(pb::ModelProto model, const OnnxCase& test, bool* frozen) {
  const fs::path set = fs::path(test.folder) / "test_data_set_0";
  const FixedInputs counts = FixSequences(model, set);
  const auto import = [&] {
    const std::string bytes = model.SerializeAsString();
    return ImportOnnxBytes(bytes.data(), bytes.size(), test.folder, counts);
  };
  // Some cases name opset 1, for operators that have not changed since; Skiff reads later ones.
  for (auto& opset : *model.mutable_opset_import()) {
    if (opset.domain().empty() && opset.version() < kOldestOnnxOpset) opset.set_version(kOldestOnnxOpset);
  }
  try {
    Graph graph = import();
    if (BranchesAgree(graph)) return graph;
  } catch (const Error& error) {
    if (WhyFrozen(test) == nullptr && std::string(error.what()).find("at run time") == std::string::npos)
      throw;
  }
  *frozen = true;
  MakeInputsConstant(model, set, FirstFrozenInput(test));
  return import();
}

}  // namespace

std::vector<OnnxCase> AllOnnxCases() {
  const char* place = std::getenv("SKIFF_ONNX_TESTDATA");
  const fs::path root = place != nullptr ? place : "/usr/share/libonnx-testdata/data";
  std::vector<OnnxCase> cases;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (OnnxCase& test : CasesIn(root / suite, suite)) cases.push_back(std::move(test));
  }
  const fs::path newer = fs::path(SKIFF_SOURCE_DIR) / "build/third_party/onnx_1_20";
  for (const char* suite : {"node", "simple"}) {
    if (place != nullptr) break;
    for (OnnxCase& test : CasesIn(newer / suite, std::string(suite) + "-1.20")) {
      if (!IsSameCase(root / suite / test.name, test.folder)) {
        cases.push_back(std::move(test));
      }
    }
  }
  std::sort(cases.begin(), cases.end(), [](const OnnxCase& a, const OnnxCase& b) {
    return std::tie(a.suite, a.name) < std::tie(b.suite, b.name);
  });
  return cases;
}

OnnxCaseData LoadOnnxCase(const OnnxCase& test) {
  pb::ModelProto model;
  ReadProtobufFile(test.folder + "/model.onnx", "not an ONNX model", model);
  OnnxCaseData data;
  data.graph = ImportCase(model, test, &data.frozen);
  for (int i = 0;; ++i) {
    const fs::path folder = fs::path(test.folder) / fmt::format("test_data_set_{}", i);
    if (!fs::exists(folder)) break;
    OnnxCaseData::Set& set = data.sets.emplace_back();
    const auto& ports = data.graph.inputs();
    for (int j = 0; j < model.graph().input_size(); ++j) {
      const std::string& port = model.graph().input(j).name();
      if (std::none_of(ports.begin(), ports.end(), [&](const GraphPort& other) {
            return other.name == port || other.name.starts_with(port + ".");
          }))
        continue;  // A constant.
      for (auto& [name, tensor] : ReadPort(folder, "input", j, model.graph().input(j))) {
        if (std::any_of(ports.begin(), ports.end(),
                        [&, &of = name](const GraphPort& port) { return port.name == of; }))
          set.inputs.emplace(name, std::move(tensor));
      }
    }
    for (int j = 0; j < model.graph().output_size(); ++j) {
      NamedTensors parts = ReadPort(folder, "output", j, model.graph().output(j));
      std::move(parts.begin(), parts.end(), std::back_inserter(set.outputs));
    }
  }
  return data;
}

std::string CompareWithExpected(const TensorData& actual, const TensorData& expected, bool rounded) {
  if (actual.dtype() != expected.dtype()) {
    return fmt::format("{} instead of {}", DTypeName(actual.dtype()), DTypeName(expected.dtype()));
  }
  if (!(actual.shape() == expected.shape())) {
    return fmt::format("the shape {} instead of {}", ShapeText(actual.shape()).c_str(),
                       ShapeText(expected.shape()).c_str());
  }
  // NumPy sums f32 in f32, and some expectations were stored with few digits.
  const double relative = !IsFloat(actual.dtype()) ? 0.0 : actual.dtype() == DType::kF16 ? 2e-3 : 2e-5;
  const double absolute = !IsFloat(actual.dtype()) ? 0.0 : rounded ? 1e-4 : 1e-6;
  const std::vector<double> a = actual.ToDoubles();
  const std::vector<double> e = expected.ToDoubles();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]));
    if (!same && !(std::fabs(a[i] - e[i]) <= absolute + relative * std::fabs(e[i]))) {
      return fmt::format("element {} is {} instead of {}", i, a[i], e[i]);
    }
  }
  return "";
}

}  // namespace skiff
