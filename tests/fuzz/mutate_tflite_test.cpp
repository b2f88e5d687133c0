// Damages TensorFlow Lite files, by bytes and by fields, imports and converts them and, where that succeeds,
// runs them: the cases of the importer's tests, and the small trained models where they are present.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "import/tflite/import_tflite.h"
#include "import/tflite/schema.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/mutate_tflite.h"
#include "tests/fuzz/outcomes.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = 60 * 1024;

int MutationCount() {
  const char* count = std::getenv("SKIFF_FUZZ_COUNT");
  return count == nullptr ? 6000 : std::atoi(count);
}

std::vector<fs::path> SampleFiles() {
  std::vector<fs::path> files;
  for (const char* root : {"tests/converter/import/tflite/cases",
                           "tests/converter/import/tflite/signature_cases", "../shared/models"}) {
    const fs::path folder = fs::path(SKIFF_SOURCE_DIR) / root;
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".tflite" && entry.file_size() < kLargestFile)
        files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<uint8_t> ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Every signature, in one file.
std::string ImportAndRun(const std::vector<uint8_t>& bytes) {
  return ConvertAndRun([&] {
    const auto source = OpenTfliteBytes(bytes.data(), bytes.size());
    std::vector<NamedGraph> graphs;
    for (const SourceSignature& signature : source->signatures())
      graphs.push_back({signature.name, source->Import(graphs.size(), {})});
    return graphs;
  });
}

void MutateBytes(std::mt19937& random, std::vector<uint8_t>& bytes) {
  const uint32_t changes = 1 + random() % 4;
  for (uint32_t i = 0; i < changes; ++i) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
  if (random() % 8 == 0) bytes.resize(random() % bytes.size());
}

TEST(MutateTflite, AnErrorOrACleanRunEachTime) {
  const std::vector<fs::path> files = SampleFiles();
  ASSERT_FALSE(files.empty());
  std::vector<fs::path> several;
  std::copy_if(files.begin(), files.end(), std::back_inserter(several), [](const fs::path& path) {
    return path.string().find("/signature_cases/") != std::string::npos;
  });
  ASSERT_FALSE(several.empty());
  const int count = MutationCount();
  std::printf("%zu files under %zu bytes\n", files.size(), kLargestFile);
  Outcomes by_bytes;
  Outcomes by_fields;
  const auto use = [](const std::vector<uint8_t>& bytes, Outcomes& outcomes) {
    const std::string outcome = ImportAndRun(bytes);
    EXPECT_FALSE(outcome.starts_with(kDefect)) << outcome;
    outcomes.Add(outcome);
  };
  for (int i = 0; i < count; ++i) {
    std::mt19937 random(static_cast<uint32_t>(i));
    // Every eighth pair is of the few files with several signatures.
    const std::vector<fs::path>& from = i % 16 < 2 ? several : files;
    const fs::path& path = from[random() % from.size()];
    SCOPED_TRACE(path.string() + ", mutation " + std::to_string(i));
    std::vector<uint8_t> bytes = ReadFile(path);
    if (i % 2 == 0) {
      MutateBytes(random, bytes);
      use(bytes, by_bytes);
      continue;
    }
    const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(bytes.data())->UnPack());
    const uint32_t changes = 1 + random() % 2;
    for (uint32_t change = 0; change < changes; ++change) MutateFields(random, *model);
    use(Packed(*model), by_fields);
  }
  by_bytes.Print("by bytes");
  by_fields.Print("by fields");
  EXPECT_GT(by_fields.ran(), count / 20);
}

}  // namespace
}  // namespace skiff::testing
