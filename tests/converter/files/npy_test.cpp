#include "files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "files/tensor_files.h"
#include "graph/error.h"
#include "tests/support/temp_folder.h"

namespace skiff::cli {
namespace {

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

/// A file with any header and elements.
std::string File(const std::string& header, const std::string& elements, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + elements;
}

std::string MessageOf(const std::string& bytes) {
  try {
    ParseNpy(bytes, "a.npy");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kGoodHeader = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";

TEST(Npy, RoundTripOfEveryTypeAndRank) {
  for (int dtype = 1; dtype < kDTypeCount; ++dtype) {
    if (DTypeSize(static_cast<DType>(dtype)) == 0) continue;  // NumPy packs nothing.
    for (const Shape& shape :
         {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 0, 3}, Shape{1, 2, 1, 2, 1, 2, 1, 2}}) {
      TensorData tensor(static_cast<DType>(dtype), shape);
      auto* bytes = static_cast<uint8_t*>(tensor.mutable_data());
      std::iota(bytes, bytes + tensor.size_bytes(), uint8_t{1});
      const std::string file = Text(FormatNpy(tensor.view()));
      EXPECT_EQ((file.size() - tensor.size_bytes()) % 64, 0u);
      const TensorData read = ParseNpy(file, "a.npy");
      EXPECT_EQ(read.dtype(), tensor.dtype());
      EXPECT_EQ(read.shape(), shape);
      EXPECT_EQ(std::memcmp(read.data(), tensor.data(), tensor.size_bytes()), 0);
    }
  }
}

/// numpy.arange(24).reshape(2, 3, 4), saved by column.
TEST(Npy, FortranOrderIsTurned) {
  std::string elements;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) {
        elements += static_cast<char>(12 * i + 4 * j + k);
        elements += '\0';
      }
    }
  }
  const std::string header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4), }";
  const TensorData read = ParseNpy(File(header, elements), "a.npy");
  std::vector<int64_t> expected(24);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(read.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(read.ToInts(), expected);
  const char* const kEmpty = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 0), }";
  EXPECT_EQ(ParseNpy(File(kEmpty, ""), "a.npy").shape(), (Shape{2, 0}));
  const char* const kVector = "{'descr': '<i2', 'fortran_order': True, 'shape': (2,), }";
  EXPECT_EQ(ParseNpy(File(kVector, std::string("\1\0\2\0", 4)), "a.npy").ToInts(),
            (std::vector<int64_t>{1, 2}));
}

TEST(Npy, RowsWithGapsAreWrittenWithout) {
  const TensorData wide(DType::kI32, {2, 3}, std::vector<int32_t>{1, 2, 3, 4, 5, 6}.data());
  TensorView left = wide.view();
  left.shape = {2, 2};
  const TensorData read = ParseNpy(Text(FormatNpy(left)), "a.npy");
  EXPECT_EQ(read.ToInts(), (std::vector<int64_t>{1, 2, 4, 5}));
}

/// Kernels take 0 and 1 for granted.
TEST(Npy, BoolsOfAnyBytesAreReadAsTruths) {
  const skiff::testing::TempFolder folder;
  const std::string path = folder / "a.npy";
  const uint8_t bytes[] = {0, 1, 2, 255};
  TensorData any(DType::kBool, {4}, bytes);
  WriteNpy(path, any.view());
  EXPECT_EQ(ReadTensor(path, {}).ToInts(), (std::vector<int64_t>{0, 1, 1, 1}));
}

TEST(Npy, HeaderIsWhatNumpyWrites) {
  const std::string file = Text(FormatNpy(TensorData::OfFloats({1}).view()));
  EXPECT_EQ(file.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  ");
  EXPECT_EQ(file[file.size() - 5], '\n');
}

TEST(Npy, ReadsVersions2And3AndOtherSpacing) {
  const std::string header = "  {\"shape\":(2 , ),'fortran_order':False,'descr':'<i2'}\n";
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(ParseNpy(File(header, std::string("\1\0\2\0", 4), version), "a.npy").ToInts(),
              (std::vector<int64_t>{1, 2}));
  }
}

struct Malformed {
  std::string bytes;
  std::string message;
};

TEST(Npy, MalformedFilesAreExplained) {
  const std::string elements("\1\0\2\0", 4);
  const std::string good = File(kGoodHeader, elements);
  ASSERT_EQ(MessageOf(good), "");
  const std::vector<Malformed> cases = {
      {"", "does not begin with the mark"},
      {"PK\3\4", "does not begin with the mark"},
      {good.substr(0, 7), "ends inside of its header"},
      {good.substr(0, 9), "ends inside of its header"},
      {good.substr(0, 30), "ends inside of its header"},
      {good.substr(0, good.size() - 1), "needs 4 bytes of elements, but 3 follow"},
      {good + "x", "needs 4 bytes of elements, but 5 follow"},
      {File(kGoodHeader, elements, 4), "version is 4"},
      {File("", ""), "has no '{' at position 0"},
      {File("{'descr': '<i2', 'fortran_order': False}", ""), "lacks one of the keys"},
      {File("{'descr': '<i2', 'fortran_order': 0, 'shape': ()}", ""), "neither True nor False"},
      {File("{'descr': '<i2', 'descr': '<i2', 'shape': ()}", ""), "repeats the key 'descr'"},
      {File("{'order': 'C'}", ""), "unknown key 'order'"},
      {File("{'descr': '<i2}", ""), "string without an end"},
      {File("{'descr': '<i2', 'fortran_order': False, 'shape': (-1,)}", ""), "no extent at position"},
      {File("{'descr': '<i2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", ""),
       "more than 8 dimensions"},
      {File("{'descr': '<i2', 'fortran_order': False, 'shape': (9223372036854775807, 4)}", ""), "2^46 bytes"},
      {File("{'descr': '<i2', 'fortran_order': False, 'shape': (0, 9223372036854775807, 4)}", ""),
       "too large"},
      {File("{'descr': '<i2', 'fortran_order': False, 'shape': ()} + 1", ""), "goes on after its dictionary"},
      {File("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", elements), "big-endian"},
      {File("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", ""),
       "element type '<c8' is not supported"},
      {File("{'descr': '|O', 'fortran_order': False, 'shape': ()}", ""),
       "element type '|O' is not supported"},
      {File("{'descr': '', 'fortran_order': False, 'shape': ()}", ""), "element type '' is not supported"},
  };
  for (const Malformed& row : cases) {
    EXPECT_THAT(MessageOf(row.bytes),
                ::testing::AllOf(::testing::StartsWith("a.npy: "), ::testing::HasSubstr(row.message)));
  }
}

/// Nothing is at address 0 of a process.
TEST(ReadFile, NamesWhatCannotBeRead) {
  try {
    ReadFile("/proc/self/mem");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("/proc/self/mem: cannot be "));
  }
}

/// As <(...) of a shell is one, unlike a device.
TEST(ReadFile, TakesPipesUpToALimit) {
  const skiff::testing::TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string content(100'000, 'x');
  const auto read = [&](uint64_t most) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << content; });
    std::string got;
    try {
      got = ReadFile(pipe, most);
    } catch (const Error& error) {
      got = error.what();
    }
    writer.join();
    return got;
  };
  EXPECT_EQ(read(content.size()), content);
  EXPECT_EQ(read(content.size() - 1),
            pipe + ": has more than 99999 bytes, the most that such a file may have");
}

TEST(Npy, NoPrefixOfAFileCrashesOrReads) {
  const std::string good = File(kGoodHeader, std::string("\1\0\2\0", 4));
  for (size_t size = 0; size < good.size(); ++size) EXPECT_NE(MessageOf(good.substr(0, size)), "");
}

}  // namespace
}  // namespace skiff::cli
