// What a start reads and packs, without and with a cache folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/text.h"
#include "skiff/delegates.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Tensors = std::map<std::string, TensorData>;

/// What XNNPACK looks up before it packs (products, convolutions), and what it packs first (depthwise and
/// transposed convolutions, BatchNorm); a dense layer that is cut into blocks.
constexpr const char* kAllKinds = R"(graph all {
  input image: f32[1, 12, 12, 8]
  const w1: f32[16, 3, 3, 8] = seed 1
  const b1: f32[16] = seed 2
  const w2: f32[16, 3, 3, 1] = seed 3
  const w3: f32[8, 2, 2, 16] = seed 4
  const w4: f32[8, 1, 1, 8] = seed 5
  const w5: f32[1024, 1024] = seed 6
  const shape: i64[2] = [9, 1024]
  const m: f32[1024, 24] = seed 7
  a = Conv2d(image, w1, b1) {pads=[1, 1, 1, 1], min=0}
  b = Conv2d(a, w2, _) {pads=[1, 1, 1, 1], groups=16}
  c = ConvTranspose2d(b, w3, _) {strides=[2, 2]}
  d = Conv2d(c, w4, _)
  e = Concat(d, d) {axis=3}
  flat = Reshape(e, shape)
  f = FullyConnected(flat, w5, _)
  g = MatMul(f, m)
  output g = g
})";

constexpr const char* kOpenNet = R"(graph open {
  symbol h: 8..40
  input image: f32[1, h, 8, 3]
  const w1: f32[8, 3, 3, 3] = seed 1
  const w2: f32[8, 1, 1, 8] = seed 2
  a = Conv2d(image, w1, _) {pads=[1, 1, 1, 1], min=0}
  b = Conv2d(a, w2, _)
  output b = b
})";

/// A model on disk, and a folder for its cache.
class StartUp : public ::testing::Test {
 protected:
  void Write(const std::string& text) {
    Graph graph = ParseGraph(text);
    inputs_ = RandomInputs(graph, 7);
    const auto converted = ConvertGraph(std::move(graph));
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(converted->file.data()),
               static_cast<std::streamsize>(converted->file.size()));
  }
  std::unique_ptr<Model> Open(const std::string& cache) const {
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    options.cache_folder = cache.empty() ? nullptr : cache.c_str();
    Result<std::unique_ptr<Model>> model = Model::Open(path_.c_str(), options);
    if (!model.ok()) throw std::runtime_error("the model does not open");
    return std::move(*model);
  }
  static std::unique_ptr<Session> Create(Model& model) {
    SessionOptions options;
    options.threads = 1;
    Result<std::unique_ptr<Session>> session = Session::Create(model, options);
    if (!session.ok()) throw std::runtime_error("there is no session");
    return std::move(*session);
  }
  static bool Same(const Tensors& a, const Tensors& b) {
    for (const auto& [name, tensor] : a) {
      const TensorData& other = b.at(name);
      if (tensor.view().bytes() != other.view().bytes() ||
          std::memcmp(tensor.data(), other.data(), static_cast<size_t>(tensor.view().bytes())) != 0)
        return false;
    }
    return true;
  }

  const TempFolder folder_;
  const std::string path_ = folder_ / "net.skiff";
  const TempFolder cache_;
  Tensors inputs_;
};

TEST_F(StartUp, TheSecondComputesTheSameBitsFromMappedWeights) {
  Write(kAllKinds);
  const auto plain = Open("");
  const Tensors expected = RunSession(*Create(*plain), inputs_);
  EXPECT_THAT(cache_.List(), ElementsAre());

  uint64_t packed = 0;
  {
    const auto first = Open(cache_.path());
    const auto session = Create(*first);
    EXPECT_EQ(cache_.List().size(), 1u) << "written before the first run: the process may be killed";
    EXPECT_TRUE(Same(RunSession(*session, inputs_), expected));
    packed = session->memory_usage().packed_weights;
    EXPECT_EQ(session->memory_usage().mapped_packed_weights, 0u);
  }
  EXPECT_GT(packed, uint64_t{4} << 20);
  for (int start = 0; start < 2; ++start) {
    const auto second = Open(cache_.path());
    const auto session = Create(*second);
    EXPECT_EQ(session->memory_usage().packed_weights, 0u);
    EXPECT_EQ(session->memory_usage().mapped_packed_weights, packed);
    EXPECT_TRUE(Same(RunSession(*session, inputs_), expected));
    const auto another = Create(*second);
    EXPECT_EQ(another->memory_usage().mapped_packed_weights, packed) << "shared by the Sessions";
  }
  EXPECT_EQ(cache_.List().size(), 1u) << "nothing temporary";
}

TEST_F(StartUp, OpenDimensionsAreSavedWhenAskedOrAtTheEnd) {
  Write(kOpenNet);
  inputs_ = {{"image", RandomTensor(DType::kF32, Shape{1, 16, 8, 3}, 7)}};
  for (const bool ask : {true, false}) {
    SCOPED_TRACE(ask);
    const TempFolder cache;
    {
      const auto first = Open(cache.path());
      const auto session = Create(*first);
      RunSession(*session, inputs_);
      EXPECT_THAT(cache.List(), ElementsAre()) << "not inside of a run";
      if (ask) {
        EXPECT_TRUE(first->SaveCache().ok());
        EXPECT_EQ(cache.List().size(), 1u);
      }
    }
    EXPECT_EQ(cache.List().size(), 1u);
    const auto second = Open(cache.path());
    const auto session = Create(*second);
    RunSession(*session, inputs_);
    EXPECT_EQ(second->packed_bytes().heap, 0u);
    EXPECT_GT(second->packed_bytes().mapped, 0u);
  }
}

/// Two files whose weights differ, and which state the same hashes for them: the first one's weights do not
/// become the second one's.
TEST_F(StartUp, AFileThatNamesItsWeightsLikeAnothersGetsNoneOfThem) {
  Write(kAllKinds);
  const std::string honest = ReadWhole(path_);
  std::string evil = honest;
  // The last weights are those of `m`, all behind the FlatBuffer part.
  for (size_t at = evil.size() - 24 * 1024 * sizeof(float); at + sizeof(float) < evil.size() - 64;
       at += sizeof(float)) {
    const float wrong = 1000;
    std::memcpy(evil.data() + at, &wrong, sizeof(wrong));
  }
  const auto in_memory = [&](const std::string& file) {
    const AlignedBytes bytes(std::vector<uint8_t>(file.begin(), file.end()));
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    options.cache_folder = cache_.path().c_str();
    Result<std::unique_ptr<Model>> model = Model::Open(bytes.span(), options);
    if (!model.ok()) throw std::runtime_error("the model does not open");
    return RunSession(*Create(**model), inputs_);
  };
  const auto on_disk = [&](const std::string& file) {
    std::ofstream(path_, std::ios::binary) << file;
    return RunSession(*Create(*Open(cache_.path())), inputs_);
  };
  const Tensors right = RunSession(*Create(*Open("")), inputs_);
  const Tensors wrong = in_memory(evil);
  EXPECT_FALSE(Same(wrong, right)) << "the files differ";
  EXPECT_TRUE(Same(in_memory(honest), right));
  EXPECT_TRUE(Same(on_disk(evil), wrong));
  EXPECT_TRUE(Same(on_disk(honest), right)) << "the same name, size and place on the disk";
  EXPECT_EQ(cache_.List().size(), 1u) << "they share a name in the cache, too";
}

/// An update of an application brings the same model in another file.
TEST_F(StartUp, AnotherFileOfTheSameContentFindsItsWeights) {
  Write(kAllKinds);
  (void)Create(*Open(cache_.path()));
  const std::string bytes = ReadWhole(path_);
  std::filesystem::remove(path_);
  std::ofstream(path_, std::ios::binary) << bytes;
  const auto model = Open(cache_.path());
  const auto session = Create(*model);
  EXPECT_EQ(model->packed_bytes().heap, 0u);
  EXPECT_GT(model->packed_bytes().mapped, 0u);
}

TEST_F(StartUp, AFolderThatCannotBeWrittenIsOneWarning) {
  Write(kAllKinds);
  static std::vector<std::string> log;
  log.clear();
  SetLogSink([](void*, LogLevel, const char* message) { log.emplace_back(message); }, nullptr);
  {
    const auto model = Open("/proc/nothing/here");
    const auto session = Create(*model);
    const auto another = Create(*model);
    EXPECT_TRUE(Same(RunSession(*session, inputs_), RunSession(*another, inputs_)));
  }
  SetLogSink(nullptr, nullptr);
  EXPECT_THAT(log, ElementsAre(HasSubstr("the next start will not be faster")));
}

TEST_F(StartUp, ManyModelsAndSessionsStartAtOnce) {
  Write(kAllKinds);
  const Tensors expected = RunSession(*Create(*Open("")), inputs_);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    const auto shared = Open(cache_.path());
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const auto own = t % 2 == 0 ? Open(cache_.path()) : nullptr;
        const auto session = Create(own ? *own : *shared);
        EXPECT_TRUE(Same(RunSession(*session, inputs_), expected));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cache_.List().size(), 1u);
  }
  EXPECT_EQ(Open(cache_.path())->packed_bytes().heap, 0u);
}

/// Bytes of a file's mappings that are in this process's memory.
uint64_t ResidentBytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  uint64_t bytes = 0;
  bool ours = false;
  while (std::getline(maps, line)) {
    if (line.find('-') < line.find(' ')) ours = line.ends_with(path);
    unsigned long long kilobytes = 0;
    if (ours && std::sscanf(line.c_str(), "Rss: %llu kB", &kilobytes) == 1) bytes += kilobytes * 1024;
  }
  return bytes;
}

/// The kernel maps what lies around what is touched, up to a huge page.
constexpr uint64_t kLittle = uint64_t{4} << 20;
constexpr uint64_t kLarge = uint64_t{100} << 20;

TEST_F(StartUp, ALargeFileIsReadOnlyWhereItIsNeeded) {
  Write(R"(graph g {
    input x: f32[1, 5120]
    const w: f32[5120, 5120] = seed 1
    y = FullyConnected(x, w, _)
    output y = y
  })");
  ASSERT_GE(std::filesystem::file_size(path_), kLarge);
  Tensors expected;
  {
    const auto model = Open(cache_.path());
    EXPECT_LT(ResidentBytes(path_), kLittle) << "Model::Open does not read weights";
    const auto session = Create(*model);
    EXPECT_GE(ResidentBytes(path_), kLarge) << "packing does";
    expected = RunSession(*session, inputs_);
  }
  const std::string packed = cache_ / *cache_.List().begin();
  const auto model = Open(cache_.path());
  EXPECT_LT(ResidentBytes(packed), kLittle);
  const auto session = Create(*model);
  EXPECT_GE(ResidentBytes(packed), kLarge) << "its checksum was looked at";
  EXPECT_TRUE(Same(RunSession(*session, inputs_), expected));
  EXPECT_LT(ResidentBytes(path_), kLittle) << "nothing needs the file's own weights";
}

}  // namespace
}  // namespace skiff::testing
