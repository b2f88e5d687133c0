// Damages ONNX files outside of their raw tensor data, by bytes and by fields, imports and converts them and,
// where that succeeds, runs them eagerly. 2,000 in all (SKIFF_FUZZ_COUNT=N: N) over the files under 200 KB:
// the sample, the node tests of the distribution's ONNX package, and the trained models where they are
// present.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "import/onnx/import_onnx.h"
#include "import/onnx/ops.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/mutate_onnx.h"
#include "tests/fuzz/outcomes.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = 200 * 1024;

int MutationCount() {
  const char* count = std::getenv("SKIFF_FUZZ_COUNT");
  return count == nullptr ? 2000 : std::atoi(count);
}

std::vector<fs::path> SampleFiles() {
  std::vector<fs::path> files;
  const fs::path roots[] = {
      fs::path(SKIFF_SOURCE_DIR) / "samples", fs::path(SKIFF_SOURCE_DIR) / "../shared/models",
      "/usr/share/libonnx-testdata/data/pytorch-converted", "/usr/share/libonnx-testdata/data/simple",
      "/usr/share/libonnx-testdata/data/node"};
  for (const fs::path& root : roots) {
    std::vector<fs::path> found;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".onnx" && entry.file_size() < kLargestFile)
        found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    if (found.size() > 150) {  // A spread of the many node tests is enough.
      std::vector<fs::path> spread;
      for (size_t i = 0; i < 150; ++i) spread.push_back(found[i * found.size() / 150]);
      found = spread;
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string ImportAndRun(const std::string& bytes) {
  return ConvertAndRun([&] {
    return std::vector<NamedGraph>{{"main", ImportOnnxBytes(bytes.data(), bytes.size(), "")}};
  });
}

void MutateBytes(std::mt19937& random, std::string& bytes) {
  const uint32_t changes = 1 + random() % 4;
  for (uint32_t i = 0; i < changes; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
  if (random() % 8 == 0) bytes.resize(random() % bytes.size());
}

TEST(MutateOnnx, AnErrorOrACleanRunEachTime) {
  const std::vector<fs::path> files = SampleFiles();
  ASSERT_FALSE(files.empty());
  std::printf("%zu files under %zu bytes\n", files.size(), kLargestFile);
  Outcomes by_bytes;
  Outcomes by_fields;
  int parsed = 0;
  const auto use = [](const std::string& bytes, Outcomes& outcomes) {
    const std::string outcome = ImportAndRun(bytes);
    EXPECT_FALSE(outcome.starts_with(kDefect)) << outcome;
    outcomes.Add(outcome);
  };
  const int count = MutationCount();
  for (int i = 0; i < count; ++i) {
    std::mt19937 random(static_cast<uint32_t>(i));
    const fs::path& path = files[static_cast<size_t>(i) % files.size()];
    SCOPED_TRACE(path.string() + ", mutation " + std::to_string(i));
    std::string bytes = ReadFile(path);
    onnx::ModelProto model;
    if (i % 2 == 0) {
      MutateBytes(random, bytes);
      parsed += model.ParseFromString(bytes) ? 1 : 0;
      use(bytes, by_bytes);
    } else {
      ASSERT_TRUE(model.ParseFromString(bytes));
      const uint32_t changes = 1 + random() % 2;
      for (uint32_t change = 0; change < changes; ++change) MutateModel(random, model);
      ++parsed;
      use(model.SerializeAsString(), by_fields);
    }
  }
  by_bytes.Print("by bytes");
  by_fields.Print("by fields");
  std::printf("%.1f %% got past the protobuf parser, %.1f %% ran\n", 100.0 * parsed / count,
              100.0 * (by_bytes.ran() + by_fields.ran()) / count);
  EXPECT_EQ(by_bytes.total() + by_fields.total(), count);
  EXPECT_GT(by_fields.ran(), count / 20);
}

/// No package has cases of these domains: what fuzz_onnx begins with are the seeds of this tree.
TEST(MutateOnnx, SeedsHaveEveryOperatorOfDomainsWithoutCases) {
  std::set<std::string> seen;
  for (const auto& entry : fs::directory_iterator(fs::path(SKIFF_SOURCE_DIR) / "tests/fuzz/seeds/onnx")) {
    if (!entry.is_regular_file()) continue;
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(ReadFile(entry.path()))) << entry.path();
    for (const onnx::NodeProto& node : model.graph().node())
      seen.insert(node.domain() + ":" + node.op_type());
  }
  for (const std::string domain : {"ai.onnx.ml", "com.microsoft"}) {
    for (const OnnxOp* op : AllOnnxOps(domain)) {
      EXPECT_TRUE(seen.contains(domain + ":" + op->name))
          << op->name << " of " << domain << " is in no file of tests/fuzz/seeds/onnx";
    }
  }
}

}  // namespace
}  // namespace skiff::testing
