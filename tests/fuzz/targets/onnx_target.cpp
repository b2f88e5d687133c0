// An ONNX model: imported, converted, opened and run.
#include <onnx/onnx_pb.h>

#include "import/onnx/import_onnx.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/mutate_onnx.h"
#include "tests/fuzz/targets/target.h"

namespace skiff::testing {

/// The sample's net, and nodes of the kinds that the distribution's cases have.
std::vector<std::string> FuzzSeeds() { return FilesIn("samples", ".onnx", 3); }

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
  testing::Require(!outcome.starts_with("OWN FILE REFUSED"), outcome);
  return 0;
}
