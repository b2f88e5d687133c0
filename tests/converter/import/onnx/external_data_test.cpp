// External tensor data: read from the model's own folder, and from nowhere else.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void SetExternal(onnx::TensorProto* tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

/// y = x + w with w (four floats) in a file.
OnnxModel Model(const std::string& location) {
  OnnxModel model;
  model.AddInput("x", {4});
  auto* w = model.AddFloats("w", {4}, {});
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  SetExternal(w, "location", location);
  model.AddNode("Add", {"x", "w"}, {"y"});
  model.AddOutput("y");
  return model;
}

std::string Weights() {
  const float values[] = {0, 0, 1, 2, 3, 4};
  return std::string(reinterpret_cast<const char*>(values), sizeof(values));
}

void ExpectError(const OnnxModel& model, const std::string& folder, StatusCode code, const char* message) {
  const Error error = ImportError(model, folder);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_THAT(error.what(), HasSubstr(message));
}

TEST(OnnxExternalData, IsReadFromTheModelsFolder) {
  TemporaryFolder folder;
  folder.Write("w.bin", Weights());
  OnnxModel model = Model("w.bin");
  SetExternal(model.proto.mutable_graph()->mutable_initializer(0), "offset", "8");
  SetExternal(model.proto.mutable_graph()->mutable_initializer(0), "length", "16");
  const Graph graph = ImportOnnx(folder.Write("model.onnx", model.Bytes()));
  EXPECT_THAT(AsFloats(Evaluate(graph, {{"x", Floats({4}, {10, 20, 30, 40})}}).at("y")),
              ElementsAre(11, 22, 33, 44));
}

TEST(OnnxExternalData, FoldersBelowAreAllowed) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "data");
  folder.Write("data/w.bin", Weights());
  EXPECT_NO_THROW(Model("data/w.bin").Import(folder.path().string()));
}

TEST(OnnxExternalData, NothingOutsideTheFolderIsRead) {
  TemporaryFolder outside;
  const std::string secret = outside.Write("secret.bin", Weights());
  TemporaryFolder folder;
  const std::string place = folder.path().string();
  ExpectError(Model(secret), place, StatusCode::kInvalidModel, "outside the model's folder");
  ExpectError(Model("../" + outside.path().filename().string() + "/secret.bin"), place,
              StatusCode::kInvalidModel, "outside");
  ExpectError(Model(""), place, StatusCode::kInvalidModel, "outside");
  std::filesystem::create_symlink(secret, folder.path() / "link.bin");
  ExpectError(Model("link.bin"), place, StatusCode::kInvalidModel, "outside");
  std::filesystem::create_directory_symlink(outside.path(), folder.path() / "sub");
  ExpectError(Model("sub/secret.bin"), place, StatusCode::kInvalidModel, "outside");
  ExpectError(Model("w.bin"), "", StatusCode::kInvalidModel, "not read from a folder");
  folder.Write("w.bin", Weights());
  ExpectError(Model(std::string("w.bin\0/../x", 11)), place, StatusCode::kInvalidModel,
              "tensor 'w' has a NUL behind 'w.bin'");
}

TEST(OnnxExternalData, MissingShortAndContradictoryFiles) {
  TemporaryFolder folder;
  const std::string place = folder.path().string();
  ExpectError(Model("none.bin"), place, StatusCode::kIo, "none.bin");
  ExpectError(Model("."), place, StatusCode::kIo, "not a regular file");
  folder.Write("short.bin", Weights().substr(0, 15));
  ExpectError(Model("short.bin"), place, StatusCode::kInvalidModel, "has 15 bytes");
  folder.Write("w.bin", Weights());
  const auto with = [](const char* key, const char* value) {
    OnnxModel model = Model("w.bin");
    SetExternal(model.proto.mutable_graph()->mutable_initializer(0), key, value);
    return model;
  };
  ExpectError(with("offset", "9"), place, StatusCode::kInvalidModel, "from offset 9");
  ExpectError(with("offset", "9223372036854775807"), place, StatusCode::kInvalidModel, "truncated");
  ExpectError(with("offset", "-8"), place, StatusCode::kInvalidModel, "'-8'");
  ExpectError(with("offset", "8x"), place, StatusCode::kInvalidModel, "'8x'");
  ExpectError(with("length", "12"), place, StatusCode::kInvalidModel, "12");
}

/// `count` tensors of 2^20 floats, each `apart` bytes behind the one before, and their sum.
OnnxModel Overlapping(int count, int64_t apart) {
  OnnxModel model;
  model.AddInput("x", {1});
  std::string sum = "x";
  for (int i = 0; i < count; ++i) {
    const std::string name = "w" + std::to_string(i);
    auto* w = model.AddFloats(name, {1 << 20}, {});
    w->set_data_location(onnx::TensorProto::EXTERNAL);
    SetExternal(w, "location", "w.bin");
    SetExternal(w, "offset", std::to_string(i * apart));
    model.AddNode("Add", {sum, name}, {"sum" + std::to_string(i)});
    sum = "sum" + std::to_string(i);
  }
  model.AddOutput(sum);
  return model;
}

/// A small file does not become many gigabytes.
TEST(OnnxExternalData, TensorsMayOverlapWithinReason) {
  TemporaryFolder folder;
  folder.Write("w.bin", std::string((4 << 20) + 4000, '\0'));
  const std::string place = folder.path().string();
  const Graph shared = Overlapping(100, 0).Import(place);
  std::set<const void*> addresses;
  for (ValueId id = 0; id < shared.value_count(); ++id) {
    if (const Value& value = shared.value(id); value.constant && value.constant->elements() > 1)
      addresses.insert(value.constant->data());
  }
  EXPECT_EQ(addresses.size(), 1u);
  EXPECT_NO_THROW(Overlapping(16, 40).Import(place));
  ExpectError(Overlapping(100, 40), place, StatusCode::kInvalidModel, "store each tensor once");
}

/// Nor do numbers of 4 bits, which become as many floats.
TEST(OnnxExternalData, WhatTheElementsBecomeCounts) {
  TemporaryFolder folder;
  folder.Write("w.bin", std::string((1 << 20) + 4000, '\0'));
  OnnxModel model = Overlapping(40, 40);
  constexpr int kFloat4E2M1 = 23;  // The protobuf classes may be older.
  for (onnx::TensorProto& w : *model.proto.mutable_graph()->mutable_initializer()) {
    w.set_data_type(kFloat4E2M1);
    w.set_dims(0, 1 << 21);
  }
  ExpectError(model, folder.path().string(), StatusCode::kInvalidModel, "store each tensor once");
}

/// What is free is not free for each file.
TEST(OnnxExternalData, TensorsOfAllFilesOverlapTogether) {
  TemporaryFolder folder;
  for (const char* file : {"w.bin", "v.bin"}) folder.Write(file, std::string((4 << 20) + 4000, '\0'));
  OnnxModel model = Overlapping(32, 40);
  for (int i = 16; i < 32; ++i)
    model.proto.mutable_graph()->mutable_initializer(i)->mutable_external_data(0)->set_value("v.bin");
  ExpectError(model, folder.path().string(), StatusCode::kInvalidModel, "store each tensor once");
}

/// Numbers that are widened, packed, or made 0 and 1, are so once for all tensors of one type, and apart from
/// those of others.
TEST(OnnxExternalData, WhatIsMadeOfTheElementsIsSharedToo) {
  TemporaryFolder folder;
  folder.Write("w.bin", std::string(101, '\x7A'));
  constexpr int kFloat8E4M3Fn = 17;  // The protobuf classes may be older.
  constexpr int kFloat8E5M2 = 19;
  constexpr int kInt4 = 22;
  const int types[] = {kFloat8E4M3Fn, kFloat8E5M2, kInt4, onnx::TensorProto::BFLOAT16,
                       onnx::TensorProto::BOOL};
  OnnxModel model(21);
  for (int i = 0; i < 50; ++i) {
    auto* w = model.AddFloats(fmt::format("w{}", i), {i % 10 < 5 ? 25 : 1, i % 10 < 5 ? 1 : 25}, {});
    w->set_data_type(types[i % 5]);
    w->set_data_location(onnx::TensorProto::EXTERNAL);
    SetExternal(w, "location", "w.bin");
  }
  model.AddOutput("w0");
  const Graph graph = model.Import(folder.path().string());
  std::map<const void*, int> tensors;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    ++tensors[value.constant->data()];
    EXPECT_EQ(value.constant->dtype() == DType::kF32, value.constant->ToDoubles()[24] > 100);
    if (value.dtype == DType::kBool) {
      EXPECT_THAT(value.constant->ToInts(), testing::Each(1));
    }
    EXPECT_EQ(value.constant->shape(), value.shape());
  }
  EXPECT_EQ(tensors.size(), 5u);
  for (const auto& [address, count] : tensors) EXPECT_EQ(count, 10);
}

/// Many tensors over the same bytes do not let importers make as many more constants.
TEST(OnnxExternalData, WhatIsSharedIsInTheFileOnce) {
  TemporaryFolder folder;
  folder.Write("w.bin", std::string(4 << 20, '\0'));
  OnnxModel model = Overlapping(100, 0);
  model.AddInput("t", {3}, onnx::TensorProto::INT64);
  for (int i = 0; i < 10; ++i) {
    MakeLargeTable(model.AddNode("TfIdfVectorizer", {"t"}, {fmt::format("y{}", i)}));
    model.AddOutput(fmt::format("y{}", i));
  }
  ExpectError(model, folder.path().string(), StatusCode::kUnsupported, "more than 256 MiB");
}

/// As caches of downloads keep models: all files in one folder, and links to them in another one.
TEST(OnnxExternalData, LinkedModelsHaveTheFilesBesideTheirTarget) {
  TemporaryFolder folder;
  namespace fs = std::filesystem;
  for (const char* made : {"blobs", "elsewhere", "snapshots", "snapshots/1"})
    fs::create_directory(folder.path() / made);
  folder.Write("blobs/1f", Model("w.bin").Bytes());
  for (const char* made : {"blobs/2e", "elsewhere/2e"}) folder.Write(made, Weights());
  const fs::path snapshot = folder.path() / "snapshots/1";
  fs::create_symlink("../../blobs/1f", snapshot / "model.onnx");
  fs::create_symlink("../../blobs/2e", snapshot / "w.bin");
  const std::string linked = (snapshot / "model.onnx").string();
  EXPECT_NO_THROW(ImportOnnx(linked));
  const auto expect_refused = [](const std::string& model) {
    try {
      ImportOnnx(model);
      ADD_FAILURE() << model;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("outside the model's folder"));
    }
  };
  expect_refused(folder.Write("snapshots/1/copied.onnx", Model("w.bin").Bytes()));
  fs::remove(snapshot / "w.bin");
  fs::create_symlink("../../elsewhere/2e", snapshot / "w.bin");
  expect_refused(linked);
}

}  // namespace
}  // namespace skiff
