// A .skiff file: opened, and used as far as that goes.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "skiff/delegates.h"
#include "tests/fuzz/file_parts.h"
#include "tests/fuzz/mutate_skiff.h"
#include "tests/fuzz/targets/target.h"
#include "tests/fuzz/use_model.h"

namespace skiff::testing {

/// Files of every format version have all that a version can say; those of nets come from the mutation tests'
/// graphs.
std::vector<std::string> FuzzSeeds() { return FilesIn("tests/format/golden", ".skiff", SIZE_MAX); }

namespace {

bool IsWhole(const uint8_t* data, size_t size) {
  format::FileHeader header;
  if (size < sizeof(header)) return false;
  std::memcpy(&header, data, sizeof(header));
  if (header.model_offset > size || header.model_size > size - header.model_offset ||
      header.weights_offset > size || size - header.weights_offset < format::kAlignment)
    return false;
  const std::vector<uint8_t> model(data + header.model_offset,
                                   data + header.model_offset + header.model_size);
  flatbuffers::Verifier verifier(model.data(), model.size());
  return format::VerifyModelBuffer(verifier);
}

}  // namespace
}  // namespace skiff::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace skiff::testing;
  std::mt19937 random(seed);
  // Bytes get to the FlatBuffers verifier, fields beyond it.
  if (random() % 8 == 0 || !IsWhole(data, size)) return LLVMFuzzerMutate(data, size, max_size);
  const Parts parts(std::vector<uint8_t>(data, data + size));
  const auto model = parts.Unpack();
  for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) MutateFields(random, *model);
  const std::vector<uint8_t> file = parts.Assemble(*model);
  return Replaced(std::string(file.begin(), file.end()), data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, size) != 0) return 0;
  const std::unique_ptr<void, decltype(&std::free)> file(memory, &std::free);
  if (size > 0) std::memcpy(memory, data, size);
  skiff::ModelOptions options;
  options.delegates = skiff::BuiltinDelegates();
  auto model = skiff::Model::Open({static_cast<const uint8_t*>(memory), size}, options);
  if (model.ok()) skiff::testing::UseModel(**model);
  return 0;
}
