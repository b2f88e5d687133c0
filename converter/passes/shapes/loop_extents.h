/// Extents of loop variables that an iteration may change: a cache that grows by a token, boxes that are
/// collected one after the other, a list that shrinks.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/node_types.h"

namespace skiff {

/// Finds the extents that hold for all iterations of a While as a fixed point: what the body returns
/// otherwise than it got it becomes a Symbol, whose interval widens until the body's results lie in it
/// (interval analysis with widening: P. Cousot and R. Cousot, "Abstract interpretation", POPL 1977).
class LoopExtents {
 public:
  /// One after the other, variables may find out that they depend on each other; behind so many rounds all
  /// are taken to.
  static constexpr int kMostRounds = 32;

  /// Before the bodies are typed with `types`. Where a loop around the node is typed again, what changed
  /// before is taken to change from the beginning: to find it out anew at each level would take a time that
  /// grows with a power of the levels.
  void Begin(Graph& graph, const Node& node, std::vector<ValueType>& types);

  /// Compares `types`, which the last body of `node` was typed with, with what it returns. True where they
  /// had to become wider: the body is to be typed again. The Symbols of `graph` are then those from before
  /// the bodies, and those of `types`.
  bool Widen(Graph& graph, const Node& node, std::vector<ValueType>& types);

 private:
  struct Interval {
    int64_t min;
    int64_t max;
  };

  bool WidenOne(size_t variable, size_t axis, const Dim& before, const Dim& after);
  void OpenAll(const Node& node, const std::vector<ValueType>& types);
  void SetSymbols(Graph& graph, const Node& node, std::vector<ValueType>& types) const;

  size_t symbols_ = 0;
  int rounds_ = 0;
  std::map<std::pair<size_t, size_t>, Interval> extents_;  ///< By variable and axis.
};

/// What is known of the loops in a graph, and in the bodies of its nodes.
struct LoopsOf {
  struct OfNode;
  std::map<NodeId, std::unique_ptr<OfNode>> nodes;
};
struct LoopsOf::OfNode {
  LoopExtents extents;
  std::map<size_t, LoopsOf> bodies;
};

}  // namespace skiff
