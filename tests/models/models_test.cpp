// Every model of the folder of trained models: those marked "passes" in models.json go through eager mode,
// the compiled plan on the reference kernels and on XNNPACK, and are compared with the reference data beside
// them; the others must still be refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/half.h"
#include "files/npy.h"
#include "graph/error.h"
#include "import/onnx/import_onnx.h"
#include "ops/op_codes.h"
#include "tests/models/model_cases.h"
#include "tests/models/models_list.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TrainedModel : public ::testing::TestWithParam<json> {
 protected:
  void SetUp() override {
    if (!fs::exists(ModelsFolder()))
      GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  }
  fs::path file() const { return ModelsFolder() / GetParam().at("file").get<std::string>(); }
  /// A net's own tolerance, which needs its reason.
  static double ToleranceOr(double usual, const std::string& prefix = "") {
    EXPECT_EQ(GetParam().contains(prefix + "tolerance"), GetParam().contains(prefix + "why"));
    return GetParam().value(prefix + "tolerance", usual);
  }
};

/// f32 data for an f16 input and the other way round: some reference data is that of the model before its
/// conversion to f16.
TensorData CastTo(const TensorData& data, DType dtype) {
  if (data.dtype() == dtype) return data;
  TensorData cast(dtype, data.shape());
  const std::vector<double> values = data.ToDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF16)
      static_cast<Half*>(cast.mutable_data())[i] = Half(static_cast<float>(values[i]));
    if (dtype == DType::kF32) static_cast<float*>(cast.mutable_data())[i] = static_cast<float>(values[i]);
  }
  return cast;
}

struct Reference {
  std::string name;
  std::map<std::string, TensorData> inputs;
  std::map<std::string, TensorData> outputs;
  double tolerance = 0;
};

Reference LoadReference(const ModelCase& model, const fs::path& file, const json& entry) {
  const Graph& graph = model.source();
  Reference reference;
  reference.name = entry.at("folder");
  reference.tolerance = entry.value("tolerance", model.half() ? kF16NetTolerance : kF32NetTolerance);
  const fs::path folder = file.parent_path() / reference.name;
  const bool seeded = entry.at("kind") == "seeded";
  if (seeded) reference.inputs = NumpySeededInputs(graph);
  for (size_t i = 0; !seeded && i < graph.inputs().size(); ++i) {
    const TensorData data = ReadTensorProto(folder / fmt::format("input_{}.pb", i));
    reference.inputs[graph.inputs()[i].name] = CastTo(data, graph.value(graph.inputs()[i].value).dtype);
  }
  if (seeded) {  // The .json beside the arrays names the outputs in their order.
    std::ifstream stream(folder / (file.stem().string() + ".json"));
    const json about = json::parse(stream);
    for (size_t i = 0; i < about.at("outputs").size(); ++i) {
      const std::string name = about.at("outputs")[i];
      reference.outputs[name] = ReadNpy(folder / fmt::format("{}.out{}.npy", file.stem().string(), i));
    }
  }
  for (size_t i = 0; !seeded && i < graph.outputs().size(); ++i) {
    reference.outputs[graph.outputs()[i].name] = ReadTensorProto(folder / fmt::format("output_{}.pb", i));
  }
  return reference;
}

/// Outputs in the types and shapes of the reference data (which may be flattened, or f32 where the model is
/// f16).
std::map<std::string, TensorData> AsReference(const std::map<std::string, TensorData>& outputs,
                                              const Reference& reference) {
  std::map<std::string, TensorData> result;
  for (const auto& [name, expected] : reference.outputs) {
    const TensorData& got = outputs.at(name);
    EXPECT_EQ(got.elements(), expected.elements()) << name;
    result[name] = CastTo(got, expected.dtype()).Reshaped(expected.shape());
  }
  return result;
}

/// From [-1, 1) to the range that the net was trained on.
void Rescale(std::map<std::string, TensorData>& inputs, float low, float high) {
  for (auto& [name, data] : inputs) {
    if (data.dtype() != DType::kF32) continue;
    auto* elements = static_cast<float*>(data.mutable_data());
    for (int64_t i = 0; i < data.elements(); ++i) elements[i] = low + (elements[i] + 1) / 2 * (high - low);
  }
}

TEST_P(TrainedModel, MatchesEagerAndItsReferenceData) {
  std::map<std::string, std::vector<int64_t>> shapes;
  if (GetParam().contains("shapes")) shapes = GetParam().at("shapes");
  ModelCase model(file(), shapes);
  const double tolerance = ToleranceOr(model.half() ? kF16NetTolerance : kF32NetTolerance);

  auto inputs = RandomInputs(model.source(), 11);
  if (GetParam().contains("range")) Rescale(inputs, GetParam().at("range")[0], GetParam().at("range")[1]);
  const auto eager = model.RunEagerly(inputs);
  const double reference = WorstRelative(model.Run(Backend::kReference, inputs), eager);
  const double planned = WorstRelative(model.Run(Backend::kPlanned, inputs), eager);
  EXPECT_LE(reference, tolerance);
  EXPECT_LE(planned, tolerance);

  const int fell_back = model.fell_back();

  std::string against;
  for (const json& entry : GetParam().at("references")) {
    const Reference data = LoadReference(model, file(), entry);
    const double by_eager = WorstRelative(AsReference(model.RunEagerly(data.inputs), data), data.outputs);
    const double by_plan =
        WorstRelative(AsReference(model.Run(Backend::kPlanned, data.inputs), data), data.outputs);
    EXPECT_LE(by_eager, data.tolerance) << data.name;
    EXPECT_LE(by_plan, data.tolerance) << data.name;
    against += fmt::format("  {} {:.1e}/{:.1e}", data.name, by_eager, by_plan);
  }
  // On the GPU: all of it, with the validation layer silent.
  double vulkan = 0;
  if (HasVulkan()) {
    const uint64_t messages = VulkanMessages();
    vulkan = WorstRelative(model.Run(Backend::kPlanned, inputs, Target::kVulkan), eager);
    if (VulkanStoresF16() && GetParam().contains("f16_storage")) {
      EXPECT_GT(vulkan, kF16NetTolerance)
          << "f16 storage serves this net now: drop the reason why it does not";
    } else {
      EXPECT_LE(vulkan, VulkanStoresF16() ? ToleranceOr(kF16NetTolerance, "f16_storage_") : tolerance);
    }
    EXPECT_EQ(model.NodesBesideTheGpu(), GetParam().value("beside_the_gpu", 0))
        << "an operator of a real model has no shader, beside If, While and top-k of integers, which run on "
           "the CPU";
    EXPECT_EQ(model.fell_back(), 0) << "on the GPU";
    EXPECT_EQ(VulkanMessages(), messages);
  }

  const PlanDraft& draft = model.converted().draft;
  EXPECT_LE(draft.arena_bytes, draft.arena_lower_bound * 105 / 100);
  EXPECT_EQ(model.NodesOn(DelegateKind::kReference), GetParam().value("on_reference", 0))
      << "an operator of a real model has no fast path";
  EXPECT_EQ(fell_back, 0);
  EXPECT_EQ(model.ConvolutionsElsewhere(), GetParam().value("convolutions_elsewhere", 0));
  EXPECT_EQ(model.CountOps(OpCode::kBatchNorm), 0);
  EXPECT_EQ(model.TransposesBetweenConvolutions(), GetParam().value("transposes_between_convolutions", 0));
  fmt::print(
      "{}: nodes {} -> {} (reference {}, fell back {}), arena {} of at least {} bytes; relative to eager: "
      "reference {:.1e}, xnnpack {:.1e}, vulkan {};{}\n",
      GetParam().at("file").get<std::string>(), model.source().sources().size(), model.nodes(),
      model.NodesOn(DelegateKind::kReference), fell_back, draft.arena_bytes, draft.arena_lower_bound,
      reference, planned, HasVulkan() ? fmt::format("{:.1e}", vulkan) : "skipped: no device", against);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedModel, ::testing::ValuesIn(WithStatus("passes")), TestName);

/// One file for all shapes: dimensions that the model leaves open stay so, and each shape in turn must give
/// what eager mode computes.
class OpenModel : public TrainedModel {};

TEST_P(OpenModel, MatchesEagerAtEachShape) {
  using Shapes = std::map<std::string, std::vector<int64_t>>;
  ModelCase open(file(), ShapeContract());
  const double tolerance = GetParam().value("tolerance", open.half() ? kF16NetTolerance : kF32NetTolerance);
  std::vector<Shapes> all = GetParam().at("other_shapes");
  all.push_back(GetParam().at("shapes"));
  for (const Shapes& shapes : all) {
    SCOPED_TRACE(json(shapes).dump());
    std::map<std::string, TensorData> inputs;
    for (const GraphPort& port : open.source().inputs()) {
      const std::vector<int64_t>& extents = shapes.at(port.name);
      inputs[port.name] = RandomTensor(open.source().value(port.value).dtype,
                                       Shape(extents.data(), static_cast<int>(extents.size())), 11);
    }
    const auto eager = open.RunEagerly(inputs);
    EXPECT_LE(WorstRelative(open.Run(Backend::kReference, inputs), eager), tolerance);
    EXPECT_LE(WorstRelative(open.Run(Backend::kPlanned, inputs), eager), tolerance);
    EXPECT_EQ(open.fell_back(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OpenModel, ::testing::ValuesIn(With("other_shapes")), TestName);

class LaterModel : public TrainedModel {};

TEST_P(LaterModel, IsRefusedWithAReason) {
  EXPECT_NE(GetParam().at("reason"), "");
  EXPECT_THROW(ModelCase(file(), ShapeContract()), Error)
      << "it works now: mark it as passing in models.json";
}

INSTANTIATE_TEST_SUITE_P(Models, LaterModel, ::testing::ValuesIn(WithStatus("later")), TestName);

TEST(TrainedModels, RunOnTheGpu) {
  if (!HasVulkan()) GTEST_SKIP() << "there is no Vulkan device here: no model was tried on one";
  EXPECT_EQ(VulkanMessages(), 0u) << "the validation layer has something to say about the device";
}

TEST(TrainedModels, TheListNamesEveryFile) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  std::set<std::string> listed;
  for (const json& entry : Listed()) listed.insert(entry.at("file"));
  for (const auto& entry : fs::recursive_directory_iterator(ModelsFolder())) {
    if (entry.path().extension() != ".onnx" && entry.path().extension() != ".tflite") continue;
    EXPECT_TRUE(listed.contains(fs::relative(entry.path(), ModelsFolder()).string()))
        << entry.path() << " is not in models.json";
  }
}

}  // namespace
}  // namespace skiff::testing
