#include "tests/fuzz/targets/onnx_input.h"

#include <onnx/onnx_pb.h>

#include <filesystem>

#include "import/onnx/import_onnx.h"
#include "import/onnx/outline.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/mutate_onnx.h"
#include "tests/fuzz/targets/target.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

/// The few that are left out are large.
constexpr size_t kCases = 900;

/// Where constants may lie beside the model: a file of zeros, and what must not be read.
struct ModelFolder : TempFolder {
  ModelFolder() {
    Write("data", std::string(256, '\0'));
    std::filesystem::create_directory(*this / "folder");
    std::filesystem::create_symlink("/proc/self/exe", *this / "elsewhere");
  }
};

FixedInputs FixedOf(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : model.graph().input()) names.push_back(input.name());
  FixedInputs fixed = FixedByName(names);
  // Whoever converts a model says how much these hold; where they do not, it is refused.
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (input.name() == "unsaid") continue;
    if (input.type().has_sequence_type()) fixed.emplace(input.name(), 2);
    if (input.type().has_optional_type()) fixed.emplace(input.name(), 1);
  }
  return fixed;
}

}  // namespace

std::vector<std::string> OnnxSeeds() {
  namespace fs = std::filesystem;
  const fs::path distribution = "/usr/share/libonnx-testdata/data/node";
  const fs::path newer = fs::path(SKIFF_SOURCE_DIR) / "build/third_party/onnx_1_20/node";
  std::vector<std::string> seeds = FilesIn("tests/fuzz/seeds", ".onnx", SIZE_MAX);
  const auto add = [&](const fs::path& folder, size_t count) {
    for (std::string& file : FilesIn(folder.string(), ".onnx", count)) seeds.push_back(std::move(file));
  };
  const bool has_cases = fs::exists(distribution);
  add(has_cases ? distribution : "samples", has_cases ? kCases : 2);
  if (!fs::exists(newer)) return seeds;
  for (const auto& test : fs::directory_iterator(newer)) {
    if (!fs::exists(distribution / test.path().filename())) add(test.path(), 1);
  }
  return seeds;
}

size_t MutateOnnxBytes(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  onnx::ModelProto model;
  if (random() % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) MutateModel(random, model);
  return Replaced(model.SerializeAsString(), data, size, max_size);
}

Graph ImportOnnxInput(const uint8_t* data, size_t size) {
  static const ModelFolder folder;
  KnowCustomOperators();
  FixedInputs fixed;
  if (onnx::ModelProto model; model.ParseFromArray(data, static_cast<int>(size))) {
    OutlineOf(model);
    ExternalLocations(model);
    fixed = FixedOf(model);
  }
  return ImportOnnxBytes(data, size, folder.path(), fixed);
}

}  // namespace skiff::testing
