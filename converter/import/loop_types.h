/// Types of loop variables that hold in every iteration, for importers: what they read of a body's types is
/// built into it.
#pragma once

#include <vector>

#include "import/import_budget.h"
#include "import/node_builder.h"

namespace skiff {

/// What a loop begins with tells the types of its first iteration alone. A body is imported under these;
/// where an extent turns out to change it becomes an open one, and the body is imported anew.
class LoopTypes {
 public:
  LoopTypes(NodeBuilder& b, const std::vector<ValueId>& first);
  LoopTypes(const LoopTypes&) = delete;
  LoopTypes& operator=(const LoopTypes&) = delete;

  /// What the loop begins with, under the types of all iterations as far as they are known.
  const std::vector<ValueId>& values() const { return values_; }
  /// Compares them with what `body` returns as its outputs from `output` on, in the same order. True where
  /// they had to become wider.
  bool Widen(const Graph& body, size_t output);

 private:
  void Open(const std::set<std::pair<size_t, int>>& axes);

  NodeBuilder& b_;
  ChangingExtents own_;  ///< Without a budget.
  ChangingExtents& changing_;
  std::vector<ValueId> values_;
};

}  // namespace skiff
