#include "delegates/xnnpack/weights/packed_weights_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/memory.h"
#include "tests/delegates/packed_file_layout.h"
#include "tests/support/temp_folder.h"

namespace skiff::xnnpack {
namespace {

using skiff::testing::ReadWhole;
using skiff::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kKinds = 3;

/// The header has a random key in it.
std::string BehindHeader(const std::string& file) { return file.substr(std::min(kHeaderBytes, file.size())); }

std::vector<std::string> warnings;

void CollectWarnings(void*, LogLevel level, const char* message) {
  if (level == LogLevel::kWarning) warnings.emplace_back(message);
}

/// One start of a program: what is in the file, then what is packed.
struct Start {
  explicit Start(const char* folder, uint64_t weights_id = 7, const std::string& content = "the model",
                 uint64_t identity = 0)
      : content(content),
        file({folder,
              weights_id,
              {reinterpret_cast<const uint8_t*>(this->content.data()), this->content.size()},
              {identity, 0, 0, 0}}) {
    file.Load(weights);
    environment.weights = &weights;
  }
  /// What a 1x1, a 3x3 or a grouped 3x3 convolution of 8 channels computes.
  std::vector<float> Make(int kind) {
    ConvolutionGeometry g;
    g.kernel[0] = g.kernel[1] = kind == 0 ? 1 : 3;
    g.groups = kind == 2 ? 2 : 1;
    g.group_input_channels = g.group_output_channels = 8 / g.groups;
    g.input_stride = g.output_stride = 8;
    std::vector<float> values(8 * g.kernel[0] * g.kernel[1] * g.group_input_channels);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + static_cast<float>(kind);
    ConvolutionWeights source;
    source.weights = values.data();
    source.weights_hash = {static_cast<uint64_t>(kind), 2};
    Convolution convolution(environment);
    const int64_t smaller = kind == 0 ? 9 : 7;
    std::vector<float> input(9 * 9 * 8 + XNN_EXTRA_BYTES);
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 13);
    std::vector<float> output(static_cast<size_t>(smaller * smaller * 8));
    size_t workspace = 0;
    EXPECT_TRUE(convolution
                    .Reshape(DType::kF32, g, source, TensorView(nullptr, DType::kF32, {1, 9, 9, 8}),
                             TensorView(nullptr, DType::kF32, {1, smaller, smaller, 8}), &workspace)
                    .ok());
    std::vector<char> memory(workspace + 64);
    void* aligned = memory.data();
    size_t space = memory.size();
    std::align(64, workspace, aligned, space);
    EXPECT_TRUE(convolution.Bind(aligned, input.data(), output.data()).ok());
    EXPECT_TRUE(convolution.Run().ok());
    return output;
  }
  std::vector<std::vector<float>> MakeAll() {
    std::vector<std::vector<float>> outputs;
    for (int kind = 0; kind < kKinds; ++kind) outputs.push_back(Make(kind));
    return outputs;
  }

  const std::string content;
  PackedWeightsFile file;
  PackedWeights weights;
  Environment environment;
};

class PackedWeightsFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Initialize().ok());
    Start first(folder_.path().c_str());
    path_ = first.file.path();
    expected_ = first.MakeAll();
    packed_ = first.weights.bytes().heap;
    ASSERT_TRUE(first.file.Save(first.weights).ok());
    good_ = ReadWhole(path_);
    ASSERT_EQ(Word(good_, kSize), good_.size());
    ASSERT_EQ(Word(good_, kEntries), static_cast<uint64_t>(kKinds));
    warnings.clear();
    SetLogSink(CollectWarnings, nullptr);
  }
  void TearDown() override { SetLogSink(nullptr, nullptr); }

  void WriteFile(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  /// A start with this file in the folder: the weights are right, `packed` of them were packed anew, and the
  /// file is good afterwards.
  void ExpectStart(const std::string& bytes, uint64_t packed, const char* warning) {
    WriteFile(bytes);
    warnings.clear();
    Start start(folder_.path().c_str());
    EXPECT_EQ(start.MakeAll(), expected_);
    EXPECT_EQ(start.weights.packings(), packed);
    if (warning == nullptr) {
      EXPECT_THAT(warnings, ElementsAre());
    } else {
      EXPECT_THAT(warnings, ElementsAre(HasSubstr(warning)));
    }
    ASSERT_TRUE(start.file.Save(start.weights).ok());
    EXPECT_EQ(ReadWhole(path_).size(), good_.size());
    Start next(folder_.path().c_str());
    EXPECT_EQ(next.MakeAll(), expected_);
    EXPECT_EQ(next.weights.packings(), 0u);
  }

  const TempFolder folder_;
  std::string path_;
  std::string good_;
  std::vector<std::vector<float>> expected_;
  uint64_t packed_ = 0;
};

TEST_F(PackedWeightsFileTest, TheSecondStartPacksNothing) {
  Start second(folder_.path().c_str());
  EXPECT_EQ(second.weights.bytes().mapped, 0u) << "nothing was asked for yet";
  EXPECT_EQ(second.MakeAll(), expected_);
  EXPECT_EQ(second.weights.packings(), 0u);
  EXPECT_EQ(second.weights.bytes().heap, 0u);
  EXPECT_EQ(second.weights.bytes().mapped, packed_);
  EXPECT_THAT(warnings, ElementsAre());
}

TEST_F(PackedWeightsFileTest, IsNotWrittenWhereNothingIsNew) {
  std::filesystem::remove(path_);
  Start second(folder_.path().c_str());
  ASSERT_TRUE(second.file.Save(second.weights).ok());
  EXPECT_THAT(folder_.List(), ElementsAre());
  second.Make(0);
  ASSERT_TRUE(second.file.Save(second.weights).ok());
  EXPECT_EQ(folder_.List().size(), 1u);
  std::filesystem::remove(path_);
  ASSERT_TRUE(second.file.Save(second.weights).ok());
  EXPECT_THAT(folder_.List(), ElementsAre()) << "it was saved already";
}

TEST_F(PackedWeightsFileTest, Grows) {
  std::filesystem::remove(path_);
  for (int kind = 0; kind < kKinds; ++kind) {
    Start start(folder_.path().c_str());
    for (int known = 0; known <= kind; ++known) start.Make(known);
    EXPECT_EQ(start.weights.packings(), 1u) << "only the new one";
    ASSERT_TRUE(start.file.Save(start.weights).ok());
  }
  EXPECT_EQ(BehindHeader(ReadWhole(path_)), BehindHeader(good_))
      << "the same as if it had been written at once";
}

TEST_F(PackedWeightsFileTest, KeepsABlobThatThisStartDoesNotUse) {
  Start start(folder_.path().c_str());
  ConvolutionWeights other;
  const std::vector<float> values(64, 3);
  other.weights = values.data();
  other.weights_hash = {9, 9};
  ConvolutionGeometry g;
  g.group_input_channels = g.group_output_channels = g.input_stride = g.output_stride = 8;
  const TensorView image(nullptr, DType::kF32, {1, 9, 9, 8});
  size_t workspace = 0;
  ASSERT_TRUE(Convolution(start.environment).Reshape(DType::kF32, g, other, image, image, &workspace).ok());
  ASSERT_TRUE(start.file.Save(start.weights).ok());
  EXPECT_GT(ReadWhole(path_).size(), good_.size());
  Start next(folder_.path().c_str());
  next.MakeAll();
  EXPECT_EQ(next.weights.packings(), 0u);
}

TEST_F(PackedWeightsFileTest, AnotherModelHasAnotherFile) {
  Start other(folder_.path().c_str(), 8);
  EXPECT_STRNE(other.file.path(), path_.c_str());
  other.MakeAll();
  EXPECT_EQ(other.weights.packings(), static_cast<uint64_t>(kKinds));
}

/// A file that is whole, but not for this program, CPU or model.
TEST_F(PackedWeightsFileTest, RefusesWhatOthersMade) {
  const struct {
    size_t field;
    const char* why;
  } rows[] = {{0, "another version of Skiff"},
              {kBuild, "another build of XNNPACK"},
              {kCpu, "another CPU"},
              {kModel, "another model"},
              {kContent, "another model"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    std::string file = good_;
    file[row.field + 7] = static_cast<char>(file[row.field + 7] ^ 2);
    Sum(file);
    ExpectStart(file, kKinds, row.why);
  }
}

/// Under the names that another model has for its weights: it can state what it wants.
TEST_F(PackedWeightsFileTest, AModelOfOtherContentIsAnotherModel) {
  for (const uint64_t identity : {0, 5}) {
    WriteFile(good_);
    warnings.clear();
    Start other(folder_.path().c_str(), 7, "the model'", identity);
    EXPECT_STREQ(other.file.path(), path_.c_str());
    EXPECT_EQ(other.weights.bytes().mapped, 0u);
    EXPECT_EQ(other.MakeAll(), expected_);
    EXPECT_EQ(other.weights.packings(), static_cast<uint64_t>(kKinds));
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("belongs to another model")));
    ASSERT_TRUE(other.file.Save(other.weights).ok());
    warnings.clear();
    EXPECT_EQ(Start(folder_.path().c_str()).MakeAll(), expected_);
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("belongs to another model")));
  }
}

TEST_F(PackedWeightsFileTest, AFileThatHasNotChangedIsNotRead) {
  const std::string content = "the model";
  const auto start = [&](uint64_t identity, const std::string& seen) {
    warnings.clear();
    Start start(folder_.path().c_str(), 7, seen, identity);
    EXPECT_EQ(start.MakeAll(), expected_);
    EXPECT_TRUE(start.file.Save(start.weights).ok());
    return start.weights.packings();
  };
  EXPECT_EQ(start(5, content), 0u) << "another file, of the same content";
  EXPECT_THAT(warnings, ElementsAre());
  EXPECT_EQ(Word(ReadWhole(path_), kIdentity), 5u) << "which is known from now on";
  EXPECT_EQ(start(5, "not looked at"), 0u);
  EXPECT_EQ(start(6, "looked at"), static_cast<uint64_t>(kKinds));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("belongs to another model")));
  EXPECT_EQ(start(0, "not looked at"), static_cast<uint64_t>(kKinds)) << "in memory, nothing vouches for it";
}

TEST_F(PackedWeightsFileTest, TwoFilesHaveTwoKeys) {
  std::filesystem::remove(path_);
  Start start(folder_.path().c_str());
  start.MakeAll();
  ASSERT_TRUE(start.file.Save(start.weights).ok());
  EXPECT_NE(Word(ReadWhole(path_), kContent), Word(good_, kContent));
}

/// Rows that are sound and state another size than the kernels read. Each is the file's last, so that what
/// lies behind the blob is no memory.
TEST_F(PackedWeightsFileTest, DoesNotUseABlobOfAnotherSize) {
  for (size_t row = 0; row < kKinds; ++row) {
    const size_t at = kHeaderBytes + row * kRowBytes;
    const auto bytes = static_cast<size_t>(Word(good_, at + kBytesInRow));
    for (const size_t other : {size_t{0}, size_t{16}, bytes - 16, bytes + 16}) {
      SCOPED_TRACE(::testing::Message() << "row " << row << " with " << other << " bytes");
      std::string file = good_;
      file.resize((file.size() + 63) / 64 * 64);
      const size_t begin = file.size();
      file.append(other + XNN_EXTRA_BYTES, '\1');
      SetWord(file, kSize, file.size());
      SetWord(file, at + kOffsetInRow, begin);
      SetWord(file, at + kBytesInRow, other);
      SetWord(file, at + kSumInRow, Checksum(file.data() + begin, other));
      Sum(file);
      ExpectStart(file, 1, "is damaged");
    }
  }
}

TEST_F(PackedWeightsFileTest, SurvivesDamageOfEveryByteOfHeaderAndTable) {
  for (size_t at = 0; at < kHeaderBytes + kKinds * kRowBytes; ++at) {
    SCOPED_TRACE(at);
    std::string file = good_;
    file[at] = static_cast<char>(file[at] ^ 1 << at % 8);
    ExpectStart(file, kKinds, at < kBuild ? "another version of Skiff" : "is damaged");
  }
}

TEST_F(PackedWeightsFileTest, SurvivesTruncation) {
  std::vector<size_t> sizes = {0, 1, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 1, good_.size() - 1};
  for (size_t row = 0; row < kKinds; ++row) {
    const size_t begin = kHeaderBytes + row * kRowBytes;
    const auto blob = static_cast<size_t>(Word(good_, begin + kOffsetInRow));
    const auto bytes = static_cast<size_t>(Word(good_, begin + kBytesInRow));
    for (const size_t end : {begin + kRowBytes, blob, blob + bytes})
      for (const size_t size : {end - 1, end, end + 1}) sizes.push_back(size);
  }
  for (const size_t size : sizes) {
    SCOPED_TRACE(size);
    std::string file = good_.substr(0, size);
    ExpectStart(file, kKinds, size == 0 ? "is empty" : "is damaged");
    if (size < kHeaderBytes) continue;
    // A file that says that it should be so short.
    SetWord(file, kSize, size);
    Sum(file);
    ExpectStart(file, kKinds, "is damaged");
  }
}

TEST_F(PackedWeightsFileTest, RefusesOffsetsThatLeaveTheFile) {
  const uint64_t size = good_.size();
  const auto refused = [&](size_t at, uint64_t word) {
    SCOPED_TRACE(::testing::Message() << at << " " << word);
    std::string file = good_;
    SetWord(file, at, word);
    Sum(file);
    WriteFile(file);
    warnings.clear();
    Start start(folder_.path().c_str());
    EXPECT_EQ(start.MakeAll(), expected_);
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("is damaged")));
  };
  for (const uint64_t row : {0, 1, 2}) {
    const size_t at = kHeaderBytes + row * kRowBytes;
    for (const uint64_t offset :
         {size, size + 64, size / 64 * 64, UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63})
      refused(at + kOffsetInRow, offset);
    refused(at + kOffsetInRow, Word(good_, at + kOffsetInRow) + 1);
    for (const uint64_t bytes : {size, UINT64_MAX, UINT64_MAX - 15, size - Word(good_, at + kOffsetInRow)})
      refused(at + kBytesInRow, bytes);
  }
  for (const uint64_t entries : {uint64_t{1} << 60, UINT64_MAX, UINT64_MAX / kRowBytes + 1})
    refused(kEntries, entries);
}

/// The table is right, the weights are not: found when they are first used, and only they are packed anew.
TEST_F(PackedWeightsFileTest, PacksADamagedBlobAnew) {
  for (size_t row = 0; row < kKinds; ++row) {
    const size_t begin = Word(good_, kHeaderBytes + row * kRowBytes + kOffsetInRow);
    const size_t bytes = Word(good_, kHeaderBytes + row * kRowBytes + kBytesInRow);
    for (const size_t at : {begin, begin + bytes / 2, begin + bytes - 1}) {
      SCOPED_TRACE(at);
      std::string file = good_;
      file[at] = static_cast<char>(file[at] ^ 0x80);
      ExpectStart(file, 1, "is damaged");
    }
    // What a power cut leaves of pages that were not written yet.
    std::string file = good_;
    std::fill_n(file.begin() + static_cast<long>(begin), bytes, '\0');
    ExpectStart(file, 1, "is damaged");
  }
  ExpectStart(good_, 0, nullptr);
}

/// A blob that nobody looked at is written again with its old sum: damage does not become right thereby.
TEST_F(PackedWeightsFileTest, WritingAgainDoesNotHideDamage) {
  std::string file = good_;
  const size_t at = Word(good_, kHeaderBytes + kOffsetInRow);
  file[at] = static_cast<char>(file[at] ^ 1);
  const size_t last = Word(good_, kHeaderBytes + 2 * kRowBytes + kOffsetInRow);
  file[last] = static_cast<char>(file[last] ^ 1);
  WriteFile(file);
  Start start(folder_.path().c_str());
  start.Make(2);
  ASSERT_TRUE(start.file.Save(start.weights).ok());
  ExpectStart(ReadWhole(path_), 1, "is damaged");
}

TEST_F(PackedWeightsFileTest, SurvivesRandomMutations) {
  std::mt19937 random(1);
  for (int i = 0; i < 1500; ++i) {
    SCOPED_TRACE(i);
    std::string file = good_;
    for (uint32_t changes = random() % 4 + 1; changes > 0; --changes) {
      const size_t at = random() % (random() % 2 == 0 ? kHeaderBytes + kKinds * kRowBytes : file.size());
      file[at] = static_cast<char>(random());
    }
    if (random() % 4 == 0) file.resize(random() % file.size());
    if (random() % 2 == 0 && file.size() >= kHeaderBytes) Sum(file);
    WriteFile(file);
    Start start(folder_.path().c_str());
    ASSERT_EQ(start.MakeAll(), expected_);
  }
}

TEST_F(PackedWeightsFileTest, AFolderThatCannotBeWrittenIsAnError) {
  for (const char* folder : {"/proc", "/nonexistent", path_.c_str()}) {
    SCOPED_TRACE(folder);
    Start start(folder);
    EXPECT_EQ(start.MakeAll(), expected_);
    EXPECT_EQ(start.weights.packings(), static_cast<uint64_t>(kKinds));
    EXPECT_EQ(start.file.Save(start.weights).code(), StatusCode::kIo);
  }
  const std::string long_name(5000, 'x');
  Start start(long_name.c_str());
  start.MakeAll();
  EXPECT_EQ(start.file.Save(start.weights).code(), StatusCode::kIo);
}

/// A disk that is full half way through.
TEST_F(PackedWeightsFileTest, AFullDiskLeavesTheOldFile) {
  std::string old = good_;
  SetWord(old, kCpu, 1);
  Sum(old);
  WriteFile(old);
  Start start(folder_.path().c_str());
  start.MakeAll();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit full = {good_.size() / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const StatusCode code = start.file.Save(start.weights).code();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(code, StatusCode::kIo);
  EXPECT_EQ(ReadWhole(path_), old);
  EXPECT_EQ(folder_.List().size(), 1u) << "nothing temporary is left";
  EXPECT_TRUE(start.file.Save(start.weights).ok()) << "when there is room again";
  EXPECT_EQ(BehindHeader(ReadWhole(path_)), BehindHeader(good_));
}

}  // namespace
}  // namespace skiff::xnnpack
