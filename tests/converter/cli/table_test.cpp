#include "cli/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "cli/terminal.h"

namespace skiff::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"name"}, {"count", Table::Align::kRight}, {"note"}});
  table.Add({"convolution", "7", ""});
  table.Add({"add", "12345", "slow"});
  EXPECT_EQ(table.ToString(),
            "name         count  note\n"
            "convolution      7\n"
            "add          12345  slow\n");
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Table, TextsTakeSeveralLinesWhereOneWouldBeTooLong) {
  unsetenv("COLUMNS");
  std::string words;
  for (int i = 0; i < 30; ++i) words += (i == 0 ? "w" : " w") + std::to_string(i);
  Table table({{"name"}, {"count", Table::Align::kRight}, {"words"}, {"last"}});
  table.Add({"convolution", "7", words, "end"});
  table.Add({"    inner", "12", "few", "end"});
  const std::vector<std::string> lines = LinesOf(table.ToString());
  ASSERT_EQ(lines.size(), 4u) << table.ToString();
  EXPECT_THAT(lines[1], AllOf(StartsWith("convolution      7  w0 w1 "), EndsWith("  end")));
  EXPECT_THAT(lines[2], StartsWith(std::string(20, ' ') + "w"));
  EXPECT_THAT(lines[3], StartsWith("    inner       12  few"));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100u) << line;
  std::string all = lines[1].substr(20, lines[1].size() - 25) + " " + lines[2].substr(20);
  all.erase(std::unique(all.begin(), all.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
            all.end());
  EXPECT_EQ(all, words) << "none is lost";
}

TEST(Table, NamesLoseTheirMiddlesFirst) {
  unsetenv("COLUMNS");
  Table table({{"name", Table::Align::kLeft, true}, {"text"}});
  table.Add({std::string(60, 'a') + "end", std::string(40, 'b') + " " + std::string(10, 'c')});
  table.Add({"short", "few words"});
  const std::vector<std::string> lines = LinesOf(table.ToString());
  ASSERT_EQ(lines.size(), 3u) << table.ToString();
  EXPECT_EQ(lines[1].size(), 100u);
  EXPECT_THAT(lines[1], ::testing::HasSubstr("a..a"));
  EXPECT_THAT(lines[1], ::testing::HasSubstr("aend  bbb"));
}

TEST(Table, WordsStayWhole) {
  unsetenv("COLUMNS");
  Table table({{"name"}, {"value"}});
  table.Add({std::string(70, 'a'), std::string(70, 'b')});
  EXPECT_EQ(LinesOf(table.ToString())[1], std::string(70, 'a') + "  " + std::string(70, 'b'));
}

TEST(Folded, LinesGoOnFurtherIn) {
  unsetenv("COLUMNS");
  EXPECT_EQ(Folded("  input  'x'", 4), "  input  'x'");
  const std::string text = "  " + std::string(60, 'a') + " " + std::string(50, 'b') + " cc";
  EXPECT_EQ(Folded(text, 4), "  " + std::string(60, 'a') + "\n    " + std::string(50, 'b') + " cc");
  const std::string list = std::string(85, 'a') + ", [1, 2, 3, 4, 5, 6]";
  EXPECT_EQ(Folded(list, 4), std::string(85, 'a') + ",\n    [1, 2, 3, 4, 5, 6]");
  const std::string word = "  " + std::string(120, 'a');
  EXPECT_EQ(Folded(word, 4), word);
  EXPECT_EQ(Folded(word + " b", 4), word + "\n    b");
}

TEST(Table, NumbersReadWell) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
  EXPECT_EQ(Duration(812), "812 ns");
  EXPECT_EQ(Duration(9876), "9.88 us");
  EXPECT_EQ(Duration(123456789), "123 ms");
  EXPECT_EQ(Duration(2.5e9), "2.50 s");
}

TEST(Table, LongNamesKeepBothEnds) {
  EXPECT_EQ(Shortened("short", 10), "short");
  const std::string text = Shortened("/features/features.12/conv/conv.2/Conv_output_0", 20);
  EXPECT_EQ(text.size(), 20u);
  EXPECT_EQ(text, "/featu..onv_output_0");
}

/// A column becomes narrower in few steps, not word by word.
TEST(Table, ALongTextIsFoldedAtOnce) {
  unsetenv("COLUMNS");
  std::string words;
  for (int i = 0; i < 200'000; ++i) words += "word ";
  Table table({{"name"}, {"a"}, {"b"}});
  table.Add({"x", words + "end", words + "end"});
  const std::vector<std::string> lines = LinesOf(table.ToString());
  EXPECT_GT(lines.size(), 20'000u);
  for (const std::string& line : lines) ASSERT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace skiff::cli
