// An ONNX model: imported, converted, opened and run.
#include <onnx/onnx_pb.h>

#include <filesystem>

#include "import/onnx/import_onnx.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/mutate_onnx.h"
#include "tests/fuzz/targets/target.h"

namespace skiff::testing {

/// What once was a defect, and one node each: the distribution's cases, or where these are not installed the
/// samples' nets, which are larger.
std::vector<std::string> FuzzSeeds() {
  const char* const cases = "/usr/share/libonnx-testdata/data/node";
  std::vector<std::string> seeds = FilesIn("tests/fuzz/seeds", ".onnx", SIZE_MAX);
  const bool has_cases = std::filesystem::exists(cases);
  for (std::string& file : FilesIn(has_cases ? cases : "samples", ".onnx", has_cases ? 900 : 2))
    seeds.push_back(std::move(file));
  return seeds;
}

}  // namespace skiff::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace skiff::testing;
  std::mt19937 random(seed);
  onnx::ModelProto model;
  if (random() % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) MutateMessage(random, model);
  return Replaced(model.SerializeAsString(), data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  const std::string outcome = testing::ConvertAndRun([&] {
    return std::vector<NamedGraph>{{"main", ImportOnnxBytes(data, size, "")}};
  });
  testing::Require(!outcome.starts_with(testing::kDefect), outcome);
  return 0;
}
