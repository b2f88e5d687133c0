// Trained models whose dimensions are open: one file each, one Session per backend, swept over the sizes of
// the contract and compared with eager mode at each. And nets from PyTorch with all their cases from one
// file.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "graph/error.h"
#include "tests/models/model_cases.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Sizes = std::map<std::string, int64_t>;

fs::path ModelsFolder() {
  if (const char* folder = std::getenv("SKIFF_MODELS")) return folder;
  return fs::path(SKIFF_SOURCE_DIR) / "../shared/models";
}

std::vector<json> Listed() {
  std::ifstream stream(fs::path(SKIFF_SOURCE_DIR) / "tests/models/open_models.json");
  return json::parse(stream).get<std::vector<json>>();
}

std::map<std::string, DimRange> RangesOf(const json& entry) {
  std::map<std::string, DimRange> ranges;
  for (const auto& [name, numbers] : entry.at("dims").items())
    ranges[name] = DimRange(numbers[0], numbers[1], numbers.size() > 2 ? numbers[2].get<int64_t>() : 1);
  return ranges;
}

/// The smallest size, the next one, one in the middle, the one before the largest, and the largest.
std::vector<int64_t> SweepOf(const DimRange& range) {
  const int64_t step = range.multiple;
  const int64_t middle = (range.min + (range.max - range.min) / 2) / step * step;
  std::vector<int64_t> sizes{range.min, range.min + step, middle + (step == 1 && middle % 2 == 0 ? 1 : 0),
                             range.max - step, range.max};
  std::erase_if(sizes, [&](int64_t size) { return size < range.min || size > range.max; });
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// Each dimension over its sweep while the others are in the middle, then all at once.
std::vector<Sizes> Sweep(const std::map<std::string, DimRange>& ranges) {
  Sizes middle, smallest, largest;
  for (const auto& [name, range] : ranges) {
    const std::vector<int64_t> sizes = SweepOf(range);
    middle[name] = sizes[sizes.size() / 2];
    smallest[name] = sizes.front();
    largest[name] = sizes.back();
  }
  std::vector<Sizes> sweep{smallest, largest};
  for (const auto& [name, range] : ranges) {
    for (const int64_t size : SweepOf(range)) {
      sweep.push_back(middle);
      sweep.back()[name] = size;
    }
  }
  return sweep;
}

std::map<std::string, TensorData> InputsAt(const Graph& graph, const Sizes& sizes) {
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.inputs()) {
    const Value& value = graph.value(port.value);
    Shape shape;
    for (const Dim& dim : value.dims) {
      const auto size = [&](SymbolId id) {
        return Dim(sizes.at(graph.symbols()[static_cast<size_t>(id)].name));
      };
      shape.Append(dim.Replace(size).value);
    }
    inputs[port.name] = RandomTensor(value.dtype, shape, static_cast<uint32_t>(inputs.size()) + 11);
  }
  return inputs;
}

class SweptModel : public ::testing::TestWithParam<json> {};

TEST_P(SweptModel, MatchesEagerOverTheSweep) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  const json& entry = GetParam();
  EXPECT_EQ(entry.contains("tolerance"), entry.contains("why")) << "a tolerance of its own needs its reason";
  const double tolerance = entry.value("tolerance", kF32NetTolerance);
  ShapeContract contract;
  contract.dims = RangesOf(entry);
  ModelCase model(ModelsFolder() / entry.at("file").get<std::string>(), contract);
  const auto reference = model.Open(Backend::kReference);
  const auto planned = model.Open(Backend::kPlanned);
  const auto vulkan = HasVulkan() ? model.Open(Backend::kPlanned, Target::kVulkan) : nullptr;
  const uint64_t messages = VulkanMessages();
  double worst[3] = {};
  const std::vector<Sizes> sweep = Sweep(contract.dims);
  for (const Sizes& sizes : sweep) {
    SCOPED_TRACE(fmt::format("{}", sizes));
    const auto inputs = InputsAt(model.source(), sizes);
    const auto eager = model.RunEagerly(inputs);
    const double differences[] = {WorstRelative(RunSession(*reference, inputs), eager),
                                  WorstRelative(RunSession(*planned, inputs), eager),
                                  vulkan ? WorstRelative(RunSession(*vulkan, inputs), eager) : 0.0};
    for (int i = 0; i < 3; ++i) {
      constexpr const char* kNames[] = {"reference", "xnnpack", "vulkan"};
      EXPECT_LE(differences[i], tolerance) << kNames[i];
      worst[i] = std::max(worst[i], differences[i]);
    }
  }
  EXPECT_EQ(VulkanMessages(), messages) << "the validation layer had something to say";
  fmt::print("{}: {} sizes; reference {:.1e}, xnnpack {:.1e}, vulkan {}\n",
             entry.at("file").get<std::string>(), sweep.size(), worst[0], worst[1],
             vulkan ? fmt::format("{:.1e}", worst[2]) : "skipped: no device");
}

std::string TestName(const ::testing::TestParamInfo<json>& info) {
  std::string name = info.param.at("file").get<std::string>();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Listed, SweptModel, ::testing::ValuesIn(Listed()), TestName);

/// Where a net's dimensions are open, all of PyTorch's cases come from one file and one Session.
TEST(OpenExportedNets, MatchPyTorchEagerFromOneFile) {
  const char* folder = std::getenv("SKIFF_EXPORTED_NETS");
  if (folder == nullptr) GTEST_SKIP() << "SKIFF_EXPORTED_NETS does not name a folder of exported nets";
  for (const char* net : {"text_encoder", "mobilenet_v2_dynamic", "varying_rows"}) {
    const fs::path path = fs::path(folder) / net;
    if (!fs::exists(path)) continue;
    SCOPED_TRACE(net);
    ModelCase model(path / "model.onnx", ShapeContract());
    for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
      const auto session = model.Open(backend);
      for (const auto& one : fs::directory_iterator(path)) {
        if (!one.path().filename().string().starts_with("case_")) continue;
        std::map<std::string, TensorData> inputs, expected;
        for (const GraphPort& port : model.source().inputs())
          inputs[port.name] = ReadNpy(one.path() / ("input_" + port.name + ".npy"));
        for (size_t i = 0; i < model.source().outputs().size(); ++i)
          expected[model.source().outputs()[i].name] = ReadNpy(one.path() / fmt::format("output_{}.npy", i));
        EXPECT_LE(WorstRelative(RunSession(*session, inputs), expected), kF32NetTolerance)
            << one.path().filename();
      }
    }
  }
}

}  // namespace
}  // namespace skiff::testing
