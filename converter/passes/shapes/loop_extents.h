/// Extents of loop variables that an iteration may change: a cache that grows by a token, boxes that are
/// collected one after the other, a list that shrinks.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/node_types.h"

namespace skiff {

/// Finds the extents that hold for all iterations of a While as a fixed point: what the body returns
/// otherwise than it got it becomes a Symbol, whose interval widens until the body's results lie in it
/// (interval analysis with widening: P. Cousot and R. Cousot, "Abstract interpretation", POPL 1977).
class LoopExtents {
 public:
  /// Before the bodies are typed.
  explicit LoopExtents(const Graph& graph) : symbols_(graph.symbols().size()) {}

  /// Compares `types`, which the last body of `node` was typed with, with what it returns. True where they
  /// had to become wider: the body is to be typed again. The Symbols of `graph` are then those from before
  /// the bodies, and those of `types`.
  bool Widen(Graph& graph, const Node& node, std::vector<ValueType>& types);

 private:
  struct Extent {
    size_t variable;
    size_t axis;
    int64_t min;
    int64_t max;
  };

  bool WidenOne(size_t variable, size_t axis, const Dim& before, const Dim& after);

  size_t symbols_;
  std::vector<Extent> extents_;  ///< Their Symbols follow each other.
};

}  // namespace skiff
