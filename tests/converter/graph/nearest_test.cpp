#include "graph/nearest.h"

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(EditDistance, CountsWhatOneWouldChange) {
  struct Row {
    const char* a;
    const char* b;
    size_t distance;
  };
  const Row rows[] = {{"", "", 0},           {"", "abc", 3},           {"batch", "batch", 0},
                      {"Batch", "bATCH", 0}, {"batch", "bacth", 1},    {"batch", "btch", 1},
                      {"seq", "seqs", 1},    {"kitten", "sitting", 3}, {"ab", "ba", 1},
                      {"abc", "cba", 2}};
  for (const Row& row : rows) {
    EXPECT_EQ(EditDistance(row.a, row.b), row.distance) << row.a << " " << row.b;
    EXPECT_EQ(EditDistance(row.b, row.a), row.distance) << row.b << " " << row.a;
  }
}

TEST(Nearest, IsWhatWasLikelyMeant) {
  const std::vector<std::string> known = {"convert", "run", "bench", "parity", "input_ids", "x"};
  EXPECT_EQ(Nearest("covnert", known), "convert");
  EXPECT_EQ(Nearest("rum", known), "run");
  EXPECT_EQ(Nearest("input", known), "input_ids") << "it begins so";
  EXPECT_EQ(Nearest("X", known), "x");
  EXPECT_EQ(Nearest("y", known), "") << "one letter of one is all of it";
  EXPECT_EQ(Nearest("quantize", known), "");
  EXPECT_EQ(Nearest("", known), "");
  EXPECT_EQ(Nearest("a", {}), "");
  EXPECT_EQ(Nearest("bat", {"bar", "cat"}), "bar") << "the first of equal ones";
  EXPECT_EQ(DidYouMean("benhc", known), " (did you mean 'bench'?)");
  EXPECT_EQ(DidYouMean("zzzz", known), "");
}

TEST(Nearest, LongNamesTakeNoLongTime) {
  const std::string one(1000000, 'a');
  EXPECT_EQ(EditDistance(one, one + "b"), 0u) << "what is behind the first letters does not count";
}

}  // namespace
}  // namespace skiff
