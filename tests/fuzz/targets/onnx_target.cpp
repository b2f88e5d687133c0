// An ONNX model: looked at, imported, converted, opened and run.
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/targets/onnx_input.h"
#include "tests/fuzz/targets/target.h"

std::vector<std::string> skiff::testing::FuzzSeeds() { return OnnxSeeds(); }

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return skiff::testing::MutateOnnxBytes(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  const auto import = [&] { return std::vector<NamedGraph>{{"main", testing::ImportOnnxInput(data, size)}}; };
  const std::string outcome = testing::ConvertAndRun(import, testing::KeepModel);
  testing::Require(!outcome.starts_with(testing::kDefect), outcome);
  return 0;
}
