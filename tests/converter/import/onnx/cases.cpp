#include "tests/converter/import/onnx/cases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "graph/error.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/ops.h"
#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"
#include "passes/passes.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;

/// The older release's cases have bfloat16 as u16, its bits.
TensorData ReadValue(const fs::path& folder, const char* kind, int index, const onnx::ValueInfoProto& port) {
  TensorData data = ReadTensorProto((folder / fmt::format("{}_{}.pb", kind, index)).string());
  if (port.type().tensor_type().elem_type() != onnx::TensorProto::BFLOAT16 || data.dtype() != DType::kU16)
    return data;
  TensorData wide(DType::kF32, data.shape());
  for (int64_t i = 0; i < data.elements(); ++i)
    static_cast<float*>(wide.mutable_data())[i] =
        std::bit_cast<float>(static_cast<uint32_t>(data.as<uint16_t>()[i]) << 16);
  return wide;
}

/// Inputs behind the first one become initializers.
void MakeInputsConstant(onnx::ModelProto& model, const fs::path& set) {
  for (int i = 1; i < model.graph().input_size(); ++i) {
    onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
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

Graph ImportCase(onnx::ModelProto model, const OnnxCase& test, bool* frozen) {
  const auto import = [&] {
    const std::string bytes = model.SerializeAsString();
    return ImportOnnxBytes(bytes.data(), bytes.size(), test.folder);
  };
  // Some cases name opset 1, for operators that have not changed since; Skiff reads later ones.
  for (auto& opset : *model.mutable_opset_import()) {
    if (opset.domain().empty() && opset.version() < kOldestOnnxOpset) opset.set_version(kOldestOnnxOpset);
  }
  try {
    Graph graph = import();
    if (BranchesAgree(graph)) return graph;
  } catch (const Error& error) {
    if (std::string(error.what()).find("at run time") == std::string::npos) throw;
  }
  *frozen = true;
  MakeInputsConstant(model, fs::path(test.folder) / "test_data_set_0");
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
  onnx::ModelProto model;
  ReadProtobufFile(test.folder + "/model.onnx", "not an ONNX model", model);
  OnnxCaseData data;
  data.graph = ImportCase(model, test, &data.frozen);
  for (int i = 0;; ++i) {
    const fs::path folder = fs::path(test.folder) / fmt::format("test_data_set_{}", i);
    if (!fs::exists(folder)) break;
    OnnxCaseData::Set& set = data.sets.emplace_back();
    for (int j = 0; j < model.graph().input_size(); ++j) {
      const std::string& name = model.graph().input(j).name();
      const auto& ports = data.graph.inputs();
      if (std::any_of(ports.begin(), ports.end(), [&](const GraphPort& port) { return port.name == name; })) {
        set.inputs[name] = ReadValue(folder, "input", j, model.graph().input(j));
      }
    }
    for (int j = 0; j < model.graph().output_size(); ++j) {
      set.outputs.emplace_back(model.graph().output(j).name(),
                               ReadValue(folder, "output", j, model.graph().output(j)));
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
