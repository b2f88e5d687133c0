// Damages ONNX files outside of their raw tensor data, by bytes and by fields, imports and converts them and,
// where that succeeds, runs them eagerly. 2,000 in all over the files under 200 KB: the sample, the node
// tests of the distribution's ONNX package, and the trained models where they are present.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "import/onnx/import_onnx.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/outcomes.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMutations = 2000;
constexpr size_t kLargestFile = 200 * 1024;

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

void MutateScalar(std::mt19937& random, Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  const int64_t numbers[] = {
      0, 1, -1, 2, 3, 7, 16, 255, -128, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN};
  const int64_t number = numbers[random() % std::size(numbers)];
  const char* const strings[] = {"",     "x",       "Conv",        "Relu", "SAME_UPPER",
                                 "axis", "ai.onnx", "com.example", "image"};
  const std::string text = strings[random() % std::size(strings)];
  const int index =
      field->is_repeated()
          ? static_cast<int>(random() % static_cast<uint32_t>(reflection->FieldSize(message, field)))
          : 0;
  switch (field->cpp_type()) {
#define SKIFF_SET(kind, Name, value)                                                    \
  case FieldDescriptor::CPPTYPE_##kind:                                                 \
    field->is_repeated() ? reflection->SetRepeated##Name(&message, field, index, value) \
                         : reflection->Set##Name(&message, field, value);               \
    break
    SKIFF_SET(INT32, Int32, static_cast<int32_t>(number));
    SKIFF_SET(INT64, Int64, number);
    SKIFF_SET(UINT64, UInt64, static_cast<uint64_t>(number));
    SKIFF_SET(FLOAT, Float, static_cast<float>(number));
    SKIFF_SET(DOUBLE, Double, static_cast<double>(number));
    SKIFF_SET(STRING, String, text);
#undef SKIFF_SET
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const auto* value =
          type->value(static_cast<int>(random() % static_cast<uint32_t>(type->value_count())));
      if (!field->is_repeated()) reflection->SetEnum(&message, field, value);
      break;
    }
    default:
      break;
  }
}

/// Walks down a random path of set fields and changes, removes or repeats what it ends at.
void MutateMessage(std::mt19937& random, Message& message) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  std::erase_if(fields, [](const FieldDescriptor* field) { return field->name() == "raw_data"; });
  if (fields.empty()) return;
  const FieldDescriptor* field = fields[random() % fields.size()];
  if (field->is_repeated() && random() % 6 == 0) {
    const int last = reflection->FieldSize(message, field) - 1;
    if (random() % 2 == 0) {
      reflection->SwapElements(&message, field, static_cast<int>(random() % static_cast<uint32_t>(last + 1)),
                               last);
    }
    reflection->RemoveLast(&message, field);
    return;
  }
  if (random() % 12 == 0) {
    reflection->ClearField(&message, field);
    return;
  }
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    MutateScalar(random, message, field);
  } else if (field->is_repeated()) {
    const auto size = static_cast<uint32_t>(reflection->FieldSize(message, field));
    MutateMessage(random,
                  *reflection->MutableRepeatedMessage(&message, field, static_cast<int>(random() % size)));
  } else {
    MutateMessage(random, *reflection->MutableMessage(&message, field));
  }
}

TEST(MutateOnnx, AnErrorOrACleanRunEachTime) {
  const std::vector<fs::path> files = SampleFiles();
  ASSERT_FALSE(files.empty());
  std::printf("%zu files under %zu bytes\n", files.size(), kLargestFile);
  Outcomes by_bytes;
  Outcomes by_fields;
  int parsed = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::mt19937 random(static_cast<uint32_t>(i));
    const fs::path& path = files[static_cast<size_t>(i) % files.size()];
    SCOPED_TRACE(path.string() + ", mutation " + std::to_string(i));
    std::string bytes = ReadFile(path);
    onnx::ModelProto model;
    if (i % 2 == 0) {
      MutateBytes(random, bytes);
      parsed += model.ParseFromString(bytes) ? 1 : 0;
      by_bytes.Add(ImportAndRun(bytes));
    } else {
      ASSERT_TRUE(model.ParseFromString(bytes));
      const uint32_t changes = 1 + random() % 2;
      for (uint32_t change = 0; change < changes; ++change) MutateMessage(random, model);
      ++parsed;
      by_fields.Add(ImportAndRun(model.SerializeAsString()));
    }
  }
  by_bytes.Print("by bytes");
  by_fields.Print("by fields");
  std::printf("%.1f %% got past the protobuf parser, %.1f %% ran\n", 100.0 * parsed / kMutations,
              100.0 * (by_bytes.ran() + by_fields.ran()) / kMutations);
  EXPECT_EQ(by_bytes.total() + by_fields.total(), kMutations);
  EXPECT_EQ(by_bytes.Matching("OWN FILE REFUSED") + by_fields.Matching("OWN FILE REFUSED"), 0);
  EXPECT_GT(by_fields.ran(), kMutations / 20);
}

}  // namespace
}  // namespace skiff::testing
