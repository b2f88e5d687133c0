// Forests of decision trees.
#include <cmath>
#include <random>

#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

struct Plan {
  const char* name;
  int64_t rows, features, trees, targets;
  int depth;
  TreeAggregate aggregate = TreeAggregate::kSum;
  int32_t kinds = 1;      ///< Node i has the kind 1 + i % kinds.
  bool nan = false;       ///< Some of x.
  bool all_vote = false;  ///< Each leaf for every target.
  bool shared = false;    ///< Both ways of some node lead to one.
};

constexpr Plan kPlans[] = {
    {"leaf", 3, 1, 1, 1, 0},
    {"no_features", 9, 0, 3, 1, 0},
    {"stump", 8, 2, 1, 1, 1},
    {"one_row", 1, 5, 21, 1, 6},
    {"odd_rows", 13, 4, 9, 3, 5},
    {"many_rows", 150, 6, 12, 2, 7, TreeAggregate::kSum, 1, false, true},
    {"average", 9, 3, 7, 2, 4, TreeAggregate::kAverage},
    {"min", 9, 3, 7, 2, 4, TreeAggregate::kMin},
    {"max", 9, 3, 7, 2, 4, TreeAggregate::kMax},
    {"nan", 33, 4, 9, 1, 5, TreeAggregate::kSum, 1, true},
    {"kinds", 33, 4, 9, 2, 5, TreeAggregate::kSum, 6, true},
    {"shared", 19, 3, 5, 1, 4, TreeAggregate::kSum, 1, false, false, true},
};

/// Values that mean something together, and others that do so beside the same.
Argument Listed(DType dtype, const Shape& shape, std::vector<double> values, std::vector<double> others) {
  Argument argument;
  argument.dtype = dtype;
  argument.shape = shape;
  argument.values = std::move(values);
  argument.others = std::move(others);
  argument.constant = true;
  return argument;
}

void AddForest(CaseList& list, const Plan& plan) {
  std::mt19937 random(7);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  std::vector<double> nodes, thresholds, roots, targets, votes;
  // Nodes of one depth after the other, so that all lead to ones further behind; some branches end early.
  for (int64_t tree = 0; tree < plan.trees; ++tree) {
    struct Open {
      int depth;
      std::vector<size_t> places;
    };
    std::vector<Open> open = {{0, {}}};
    roots.push_back(static_cast<double>(thresholds.size()));
    for (size_t next = 0; next < open.size(); ++next) {
      const auto index = static_cast<double>(thresholds.size());
      for (const size_t place : open[next].places) nodes[place] = index;
      thresholds.push_back(std::round(draw(-8, 8)) / 8);
      const size_t at = nodes.size();
      const int depth = open[next].depth;
      if (depth < plan.depth && (depth == 0 || draw(0, 1) < 0.8)) {
        const auto kind = 1 + static_cast<int32_t>(thresholds.size()) % plan.kinds;
        // Kinds 1, 2, 1 + 4, 2 + 4.
        const int32_t bits = (kind % 2 == 0 ? kTreeEqual : kTreeLessOrEqual) | (kind > 3 ? kTreeNaNIsYes : 0);
        nodes.insert(nodes.end(), {std::floor(draw(0, static_cast<double>(plan.features))),
                                   static_cast<double>(bits), 0, 0});
        if (plan.shared && depth + 1 < plan.depth && draw(0, 1) < 0.3) {
          open.push_back({depth + 1, {at + 2, at + 3}});
        } else {
          open.push_back({depth + 1, {at + 2}});
          open.push_back({depth + 1, {at + 3}});
        }
        continue;
      }
      const auto begin = static_cast<double>(votes.size());
      for (int64_t target = 0; target < plan.targets; ++target) {
        if (!plan.all_vote && target != static_cast<int64_t>(thresholds.size()) % plan.targets) continue;
        targets.push_back(static_cast<double>(target));
        votes.push_back(draw(-1, 1));
      }
      nodes.insert(nodes.end(), {0, 0, begin, static_cast<double>(votes.size())});
    }
  }
  Argument x = F32({plan.rows, plan.features});
  for (int64_t i = 0; plan.nan && i < plan.rows * plan.features; ++i)
    x.values.push_back(i % 17 == 3 ? NAN : std::round(draw(-8, 8)) / 8);
  const auto count = [](const std::vector<double>& values) { return static_cast<int64_t>(values.size()); };
  // Yes and no exchanged; other thresholds and votes; votes for the next target; the trees from the last one
  // on.
  std::vector<double> exchanged = nodes, next = targets;
  for (size_t i = 0; i < exchanged.size(); i += 4) {
    if (exchanged[i + 1] != 0) std::swap(exchanged[i + 2], exchanged[i + 3]);
  }
  for (double& target : next) target = std::fmod(target + 1, static_cast<double>(plan.targets));
  const auto negated = [](std::vector<double> values) {
    for (double& value : values) value = -value;
    return values;
  };
  Case& made = list.Add(OpCode::kTreeEnsemble, plan.name,
                        {x, Listed(DType::kI32, Shape{count(thresholds), 4}, nodes, exchanged),
                         Listed(DType::kF32, Shape{count(thresholds)}, thresholds, negated(thresholds)),
                         Listed(DType::kI32, Shape{count(roots)}, roots, {roots.rbegin(), roots.rend()}),
                         Listed(DType::kI32, Shape{count(targets)}, targets, next),
                         Listed(DType::kF32, Shape{count(votes)}, votes, negated(votes))});
  if (plan.features == 0) made.falls_back = "there is nothing to read of x";
  made.As<TreeEnsembleAttrs>() = {plan.targets, plan.aggregate};
}

}  // namespace

void AddTreeCases(CaseList& list) {
  for (const Plan& plan : kPlans) AddForest(list, plan);
}

}  // namespace skiff::testing
