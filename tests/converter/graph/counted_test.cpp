#include "graph/counted.h"

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Counted, SaysNoneAndOne) {
  EXPECT_EQ(Counted(0, "layout transpose"), "no layout transposes");
  EXPECT_EQ(Counted(1, "segment"), "1 segment");
  EXPECT_EQ(Counted(12, "segment"), "12 segments");
}

}  // namespace
}  // namespace skiff
