/// The way of one row through decision trees (TreeEnsembleAttrs). The trees come from a file: whatever their
/// numbers are, a walk ends and reads nothing beside them, or fails.
#pragma once

#include <algorithm>
#include <cmath>

#include "eager/kernels/element.h"
#include "ops/op.h"

namespace skiff::eager {

/// Where a walk ended: the votes [begin, end), or why it did not.
struct TreeLeaf {
  int32_t begin = 0;
  int32_t end = 0;
  const char* problem = nullptr;
};

/// The inputs of a TreeEnsemble but x.
template <class T>
struct Trees {
  const int32_t* nodes = nullptr;  ///< Feature, kind, yes, no of each.
  const T* thresholds = nullptr;
  const int32_t* roots = nullptr;
  const int32_t* targets = nullptr;
  const T* votes = nullptr;
  int64_t node_count = 0;
  int64_t root_count = 0;
  int64_t vote_count = 0;

  Trees() = default;
  /// `views(i)` is input i.
  template <class Views>
  explicit Trees(const Views& views)
      : nodes(views(1).template as<const int32_t>()),
        thresholds(views(2).template as<const T>()),
        roots(views(3).template as<const int32_t>()),
        targets(views(4).template as<const int32_t>()),
        votes(views(5).template as<const T>()),
        node_count(views(1).shape[0]),
        root_count(views(3).shape[0]),
        vote_count(views(4).shape[0]) {}

  bool IsNode(int64_t node) const { return node >= 0 && node < node_count; }
  const int32_t* Node(int64_t node) const { return nodes + 4 * node; }

  /// What is wrong with a node by itself; null: nothing.
  const char* Check(int64_t node, int64_t features) const {
    const int32_t* const n = Node(node);
    if (n[1] == 0)
      return n[2] >= 0 && n[2] <= n[3] && n[3] <= vote_count ? nullptr : "a leaf's votes are out of range";
    if (n[0] < 0 || n[0] >= features) return "a node asks for a feature that x does not have";
    const bool forward = n[2] > node && n[3] > node && IsNode(n[2]) && IsNode(n[3]);
    return forward ? nullptr : "a node does not lead to one further behind";
  }

  /// Of x, which has `features` elements.
  TreeLeaf Walk(int64_t root, int64_t features, const T* x) const {
    if (!IsNode(root)) return {0, 0, "a root is out of range"};
    for (int64_t node = root;;) {
      if (const char* problem = Check(node, features)) return {0, 0, problem};
      const int32_t* const n = Node(node);
      if (n[1] == 0) return {n[2], n[3], nullptr};
      const auto value = Load<double>(x[n[0]]);
      const auto threshold = Load<double>(thresholds[node]);
      const bool yes = std::isnan(value)                ? (n[1] & kTreeNaNIsYes) != 0
                       : (n[1] & kTreeLessOrEqual) != 0 ? value <= threshold
                                                        : value == threshold;
      node = yes ? n[2] : n[3];
    }
  }
};

/// What one target has of the votes so far.
struct TreeSum {
  double number = 0;
  bool any = false;

  void Add(TreeAggregate aggregate, double vote) {
    if (!any || aggregate == TreeAggregate::kSum || aggregate == TreeAggregate::kAverage) {
      number += vote;
    } else {
      number = aggregate == TreeAggregate::kMin ? std::min(number, vote) : std::max(number, vote);
    }
    any = true;
  }

  double Of(TreeAggregate aggregate, int64_t roots) const {
    return aggregate == TreeAggregate::kAverage && roots > 0 ? number / static_cast<double>(roots) : number;
  }
};

inline Status TreeProblem(const char* problem) {
  return Fail(StatusCode::kInvalidArgument, "TreeEnsemble: %s; convert the model again", problem);
}

}  // namespace skiff::eager
