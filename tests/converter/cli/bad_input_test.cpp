// Every kind of bad input ends in exactly one message that says what, where, expected, got and what to do, in
// the documented exit code, and leaves an existing output file as it was.
#include "tests/converter/cli/bad_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "convert.h"
#include "tests/converter/cli/onnx_models.h"

namespace skiff::testing {

void PrintTo(const BadInput& row, std::ostream* stream) { *stream << row.name; }

std::string GoodOnnx(const TempFolder& folder) {
  return folder.Write("good.onnx", Serialized(ProductModel()));
}

std::string GoodSkiff(const TempFolder& folder) {
  const std::string path = folder / "good.skiff";
  WriteFileAtomically(path, ConvertFile(GoodOnnx(folder))->file);
  return path;
}

namespace {

std::vector<BadInput> AllCases() {
  std::vector<BadInput> all = BadSources();
  for (const std::vector<BadInput>& more : {BadTensors(), BadPlaces(), BadUsage()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Of regular files, by their paths.
std::map<std::string, std::string> Contents(const TempFolder& folder) {
  std::map<std::string, std::string> contents;
  for (const std::string& path : folder.List()) {
    if (std::filesystem::is_regular_file(folder / path)) contents[path] = ReadWhole(folder / path);
  }
  return contents;
}

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, EndsInOneMessage) {
  const BadInput& row = GetParam();
  constexpr const char* kPrecious = "an older conversion";
  const TempFolder folder;
  folder.Write("out.skiff", kPrecious);
  const std::vector<std::string> arguments = row.prepare(folder);
  const std::set<std::string> before = folder.List();
  const std::map<std::string, std::string> contents = Contents(folder);

  const RunResult result = RunSkiff(arguments, row.run);

  EXPECT_EQ(result.exit_code, row.exit_code) << result.error;
  EXPECT_THAT(result.error, ::testing::StartsWith("skiff: error: "));
  EXPECT_EQ(Count(result.error, "error: "), 1u) << result.error;
  EXPECT_TRUE(result.error.ends_with('\n'));
  for (const std::string& part : row.message) EXPECT_THAT(result.error, ::testing::HasSubstr(part));
  for (const std::string& part : row.absent)
    EXPECT_THAT(result.error, ::testing::Not(::testing::HasSubstr(part)));
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(Contents(folder), contents) << "a file was overwritten";
  EXPECT_EQ(folder.List(), before) << "a file was left behind";
}

INSTANTIATE_TEST_SUITE_P(All, BadInputTest, ::testing::ValuesIn(AllCases()),
                         [](const ::testing::TestParamInfo<BadInput>& info) { return info.param.name; });

}  // namespace
}  // namespace skiff::testing
