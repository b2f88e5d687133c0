#include "quantize/search.h"

#include <gtest/gtest.h>

namespace skiff::testing {
namespace {

/// Errors of layers add up.
struct Sum {
  std::vector<LayerCost> costs;
  FormatPlan plan;
  int asked = 0;

  explicit Sum(const std::vector<double>& errors) {
    for (size_t i = 0; i < errors.size(); ++i) {
      const auto node = static_cast<NodeId>(i);
      costs.push_back({node, errors[i], 0});
      plan[node] = Format::kI8;
    }
  }
  SearchResult Search(double max_error) {
    return LeaveFloat(plan, costs, max_error, [&](const FormatPlan& tried) {
      ++asked;
      EXPECT_FALSE(tried.empty());
      double sum = 0;
      for (const auto& [node, format] : tried) sum += costs[static_cast<size_t>(node)].error;
      return sum;
    });
  }
};

TEST(LeaveFloat, LeavesNothingWhereAllIsWithinTheBudget) {
  Sum sum({1, 2, 3});
  const SearchResult found = sum.Search(6);
  EXPECT_TRUE(found.left_float.empty());
  EXPECT_EQ(found.plan, sum.plan);
  EXPECT_EQ(found.error, 6);
  EXPECT_EQ(sum.asked, 1);
}

TEST(LeaveFloat, LeavesTheFewestOfTheMostExpensive) {
  for (size_t expensive = 1; expensive < 40; ++expensive) {
    std::vector<double> errors(50, 0.01);
    for (size_t i = 0; i < expensive; ++i) errors[i * 7 % 50] = 10 + static_cast<double>(i);
    Sum sum(errors);
    const SearchResult found = sum.Search(1);
    EXPECT_EQ(found.left_float.size(), expensive);
    EXPECT_EQ(found.plan.size(), 50 - expensive);
    EXPECT_LE(found.error, 1);
    EXPECT_FALSE(found.trail.empty());
  }
}

TEST(LeaveFloat, PutsBackWhatWasTakenForNothing) {
  // Not additive: two layers spoil each other, so that the most expensive alone is not enough, and the second
  // one is.
  const std::vector<LayerCost> costs = {{0, 5, 0}, {1, 4, 0}, {2, 1, 0}};
  const FormatPlan plan = {{0, Format::kI8}, {1, Format::kI8}, {2, Format::kI8}};
  const SearchResult found = LeaveFloat(plan, costs, 5, [](const FormatPlan& tried) {
    return tried.contains(1) && tried.contains(2) ? 9.0 : tried.contains(0) ? 5.0 : 1.0;
  });
  EXPECT_EQ(found.left_float, (std::vector<NodeId>{1}));
  EXPECT_EQ(found.error, 5);
}

TEST(LeaveFloat, LeavesAllWhereNothingLessIsEnough) {
  Sum sum({1, 1, 1});
  const SearchResult found = sum.Search(0.5);
  EXPECT_EQ(found.left_float.size(), 3u);
  EXPECT_TRUE(found.plan.empty());
  EXPECT_EQ(found.error, 0);
}

TEST(LeaveFloat, DecidesBetweenEqualErrorsByTheTie) {
  Sum sum({1, 1});
  sum.costs[1].tie = 0.5;
  EXPECT_EQ(sum.Search(1).left_float, (std::vector<NodeId>{1}));
}

}  // namespace
}  // namespace skiff::testing
