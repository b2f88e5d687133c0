#include "cli/table.h"

#include <gtest/gtest.h>

namespace skiff::cli {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"name"}, {"count", Table::Align::kRight}, {"note"}});
  table.Add({"convolution", "7", ""});
  table.Add({"add", "12345", "slow"});
  EXPECT_EQ(table.ToString(),
            "name         count  note\n"
            "convolution      7\n"
            "add          12345  slow\n");
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

}  // namespace
}  // namespace skiff::cli
