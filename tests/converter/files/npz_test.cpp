#include "files/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/input_files.h"
#include "files/npy.h"
#include "graph/error.h"
#include "tests/converter/files/write_archive.h"
#include "tests/support/temp_folder.h"

namespace skiff::cli {
namespace {

using ::skiff::testing::ReadWhole;
using ::skiff::testing::TempFolder;
using ::skiff::testing::WriteArchive;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Npy(const std::vector<int64_t>& values) {
  const std::vector<uint8_t> bytes = FormatNpy(TensorData::OfInts(values).view());
  return {bytes.begin(), bytes.end()};
}

PortInfo Port(const char* name) {
  PortInfo port;
  port.name = name;
  port.dtype = DType::kI64;
  port.shape = Shape{2};
  return port;
}

std::string WhyNot(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

std::string WhyNot(const std::string& path) {
  return WhyNot([&] {
    ReadNpz(path, [](const auto& names) { return std::set<std::string>(names.begin(), names.end()); });
  });
}

TEST(Npz, EachArrayIsTheInputOfItsName) {
  const TempFolder folder;
  const PortInfo ports[] = {Port("a"), Port("b/c")};
  for (const int method : {0, Z_DEFLATED}) {
    const std::string path = WriteArchive(
        folder, "inputs.npz", {{"a.npy", Npy({1, 2})}, {"b/c.npy", Npy({3, 4})}, {"note.txt", "hi"}}, method);
    const NamedTensors inputs = ReadInputArguments({path}, {ports, 2});
    EXPECT_EQ(inputs.at("a").ToInts(), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(inputs.at("b/c").ToInts(), (std::vector<int64_t>{3, 4}));
  }
}

TEST(Npz, OneArrayOfSeveralByTheInputsName) {
  const TempFolder folder;
  const PortInfo ports[] = {Port("a"), Port("b")};
  const std::string both = WriteArchive(folder, "x.npz", {{"a.npy", Npy({1, 2})}, {"b.npy", Npy({3, 4})}});
  const std::string one = WriteArchive(folder, "y.npz", {{"other.npy", Npy({5, 6})}});
  const NamedTensors inputs = ReadInputArguments({"b=" + both, "a=" + one}, {ports, 2});
  EXPECT_EQ(inputs.at("a").ToInts(), (std::vector<int64_t>{5, 6})) << "the only one";
  EXPECT_EQ(inputs.at("b").ToInts(), (std::vector<int64_t>{3, 4}));
}

TEST(Npz, ArraysThatAreNoInputsAreNamed) {
  const TempFolder folder;
  const PortInfo ports[] = {Port("inputs")};
  const std::string path =
      WriteArchive(folder, "x.npz", {{"inputs.npy", Npy({1, 2})}, {"inputz.npy", Npy({3, 4})}});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ReadInputArguments({path}, {ports, 1}).size(), 1u);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("'inputz' is not used"), HasSubstr("did you mean 'inputs'?")));
}

TEST(Npz, DamagedOnesAreRefused) {
  const TempFolder folder;
  const std::string path = WriteArchive(folder, "x.npz", {{"a.npy", Npy({1, 2, 3, 4, 5, 6, 7, 8})}});
  EXPECT_EQ(WhyNot(path), "read");
  EXPECT_THAT(WhyNot(folder.Write("none.npz", "hello")), AllOf(HasSubstr("none.npz"), HasSubstr("archive")));
  EXPECT_THAT(WhyNot(folder / "missing.npz"), HasSubstr("missing.npz"));
  EXPECT_THAT(WhyNot(WriteArchive(folder, "empty.npz", {{"note.txt", "hi"}})), HasSubstr("no arrays"));
  EXPECT_THAT(WhyNot(WriteArchive(folder, "bad.npz", {{"a.npy", "nothing"}})),
              AllOf(HasSubstr("bad.npz"), HasSubstr("array 'a'"), HasSubstr(".npy")));
  // Every byte that is another one, and every end that is too early, is an answer and no crash.
  const std::string good = ReadWhole(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string other = good;
    other[i] = static_cast<char>(other[i] ^ 0x55);
    WhyNot(folder.Write("other.npz", other));
    WhyNot(folder.Write("short.npz", good.substr(0, i)));
  }
}

/// What is not asked for may be damaged, or large.
TEST(Npz, OnlyWhatIsAskedForIsUnpacked) {
  const TempFolder folder;
  const PortInfo ports[] = {Port("a")};
  const std::string path = WriteArchive(folder, "x.npz", {{"a.npy", Npy({1, 2})}, {"b.npy", "no array"}});
  EXPECT_EQ(ReadInputArguments({"a=" + path}, {ports, 1}).at("a").ToInts(), (std::vector<int64_t>{1, 2}));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ReadInputArguments({path}, {ports, 1}).size(), 1u);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("'b' is not used"));
  EXPECT_THAT(WhyNot(path), HasSubstr("array 'b'"));
}

TEST(Npz, ManyArraysAreFoundInOneWalk) {
  const TempFolder folder;
  const PortInfo ports[] = {Port("a"), Port("b")};
  std::map<std::string, std::string> files;
  for (int i = 0; i < 10000; ++i) files[fmt::format("array_{}.npy", i)] = "";
  files["a.npy"] = Npy({1, 2});
  const std::string path = WriteArchive(folder, "x.npz", files);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ReadGivenInputs({path}, {ports, 2}, {}).size(), 1u);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("'array_10' is not used"), HasSubstr("the same of 9980 other arrays")));
  EXPECT_THAT(WhyNot([&] {
                ReadInputArguments({"b=" + path}, {ports, 2});
              }),
              AllOf(HasSubstr("no array 'b'"), HasSubstr("9981 more")));
}

/// 320 MB of zeros in a file of 320 KB.
TEST(Npz, WhatUnpacksToVeryMuchIsRefused) {
  const TempFolder folder;
  const TensorData zeros(DType::kI64, Shape{40'000'000});
  const std::vector<uint8_t> bytes = FormatNpy(zeros.view());
  const std::string content(bytes.begin(), bytes.end());
  EXPECT_THAT(WhyNot(WriteArchive(folder, "x.npz", {{"a.npy", content}}, Z_DEFLATED)),
              AllOf(HasSubstr("'a.npy': has 320000128 bytes; at most 2"), HasSubstr("numpy.savez")));
}

/// A directory that claims more than the file could ever unpack to.
TEST(Npz, ClaimsOfTerabytesTakeNoMemory) {
  const TempFolder folder;
  const std::string path = WriteArchive(folder, "x.npz", {{"a.npy", Npy({1, 2})}});
  std::string bytes = ReadWhole(path);
  const size_t entry = bytes.rfind("PK\1\2");
  ASSERT_NE(entry, std::string::npos);
  bytes[entry + 27] = '\x7f';  // The upper byte of the size of what is stored.
  EXPECT_THAT(WhyNot(folder.Write("claims.npz", bytes)), HasSubstr("claims.npz"));
}

}  // namespace
}  // namespace skiff::cli
