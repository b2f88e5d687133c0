// A TensorFlow Lite model: all its signatures imported, converted, opened and run.
#include <algorithm>
#include <string_view>

#include "format/aligned.h"
#include "import/tflite/file.h"
#include "import/tflite/import_tflite.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/mutate_tflite.h"
#include "tests/fuzz/targets/target.h"

namespace skiff::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = FilesIn("tests/converter/import/tflite/cases", ".tflite", SIZE_MAX);
  for (std::string& file : FilesIn("tests/converter/import/tflite/signature_cases", ".tflite", SIZE_MAX))
    seeds.push_back(std::move(file));
  for (std::string& file : FilesIn("tests/fuzz/seeds", ".tflite", SIZE_MAX)) seeds.push_back(std::move(file));
  return seeds;
}

namespace {

/// It can be unpacked: lists of eight bytes are aligned, which the verifier does not look at.
bool IsWhole(const std::vector<uint8_t>& bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!tflite::VerifyModelBuffer(verifier)) return false;
  const tflite::Model& model = *tflite::GetModel(bytes.data());
  if (SizeOf(model.subgraphs()) == 0 || SizeOf(model.operator_codes()) == 0 || SizeOf(model.buffers()) == 0)
    return false;
  for (const tflite::SubGraph* graph : *model.subgraphs()) {
    for (uint32_t i = 0; i < SizeOf(graph->tensors()); ++i) {
      const auto* quantization = graph->tensors()->Get(i)->quantization();
      if (quantization != nullptr && !format::ElementsAreAligned(quantization->zero_point())) return false;
    }
    for (uint32_t i = 0; i < SizeOf(graph->operators()); ++i) {
      const auto lists = LongListsOf(*graph->operators()->Get(i));
      if (!std::all_of(lists.begin(), lists.end(), format::ElementsAreAligned<flatbuffers::Vector<int64_t>>))
        return false;
    }
  }
  return true;
}

/// The ZIP archive that may follow a model: files that its metadata names.
std::string ArchiveOf(const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kEntry = "PK\3\4";
  const auto begin = std::search(bytes.begin(), bytes.end(), kEntry.begin(), kEntry.end());
  return {begin, bytes.end()};
}

}  // namespace
}  // namespace skiff::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace skiff;
  std::mt19937 random(seed);
  const std::vector<uint8_t> bytes(data, data + size);  // Aligned, as the verifier wants it.
  if (random() % 8 == 0 || !testing::IsWhole(bytes)) return LLVMFuzzerMutate(data, size, max_size);
  const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(bytes.data())->UnPack());
  for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) testing::MutateFields(random, *model);
  const std::vector<uint8_t> file = testing::Packed(*model);
  return testing::Replaced(std::string(file.begin(), file.end()) + testing::ArchiveOf(bytes), data, size,
                           max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  testing::KnowCustomOperators();
  const std::string outcome = testing::ConvertAndRun([&] {
    const auto source = OpenTfliteBytes(data, size);
    std::vector<NamedGraph> graphs;
    for (const SourceSignature& signature : source->signatures())
      graphs.push_back(
          {signature.name, source->Import(graphs.size(), {testing::FixedByName(signature.inputs)})});
    return graphs;
  });
  testing::Require(!outcome.starts_with(testing::kDefect), outcome);
  return 0;
}
