// What others wrote, where people read it.
#include "cli/print.h"

#include <gtest/gtest.h>

#include "cli/table.h"

namespace skiff::cli {
namespace {

TEST(Visible, ControlCharactersDoNothing) {
  EXPECT_EQ(Visible("plain, \xc3\xa9 and \xe2\x82\xac"), "plain, \xc3\xa9 and \xe2\x82\xac");
  EXPECT_EQ(Visible("a\x1b[2Jb\a\r\x7f"), "a\\x1b[2Jb\\x07\\x0d\\x7f");
  EXPECT_EQ(Visible("\xc2\x9b"
                    "2J"),
            "\\xc2\\x9b2J")
      << "the same in one character of UTF-8";
  EXPECT_EQ(Visible(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Visible("one\n\ttwo\n"), "one\n\ttwo\n");
  EXPECT_EQ(Visible("\x1b[31mFAILED\x1b[0m", true), "\x1b[31mFAILED\x1b[0m") << "the tool's own colours";
  EXPECT_EQ(Visible("\x1b[31mFAILED\x1b[0m"), "\\x1b[31mFAILED\\x1b[0m") << "where it shows none";
}

TEST(Visible, OneLineHasNoOther) { EXPECT_EQ(OneLine("a\nb\tc\x1b[31m"), "a\\x0ab\\x09c\\x1b[31m"); }

TEST(Visible, ANameForgesNoLineOfATable) {
  Table table({{"node"}, {"verdict"}});
  table.Add({"a\nFAILED", "\x1b[32mPARITY OK\x1b[0m"});
  EXPECT_EQ(table.ToString(), "node         verdict\na\\x0aFAILED  \x1b[32mPARITY OK\x1b[0m\n");
}

TEST(ShellWord, IsQuotedWhereItMustBe) {
  EXPECT_EQ(ShellWord("nets/a-1.onnx"), "nets/a-1.onnx");
  EXPECT_EQ(ShellWord("seq=1..8,16"), "seq=1..8,16");
  EXPECT_EQ(ShellWord("a; touch X #=1..4"), "'a; touch X #=1..4'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("$(x)"), "'$(x)'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace skiff::cli
