/// Lets a pass that thinks in numbers work on a graph with open dimensions: every Symbol gets a large prime,
/// so that different expressions are different numbers and none is like a number of the graph. What the pass
/// has made is taken over only if each number in it can be traced back to one expression, and the shape
/// rules, asked again with expressions, find the same outputs. A number that a pass has reckoned from a size
/// need not look like one (2003 - 4): only doing the same at other sizes tells.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"

namespace skiff {

class NominalSizes {
 public:
  /// Nothing when no choice of primes tells all expressions of the graph apart. `others`: sizes of the same
  /// graph, which all of these are larger than.
  static std::optional<NominalSizes> Choose(const Graph& graph, const NominalSizes* others = nullptr);

  /// Replaces every dimension of the graph by its number.
  void Apply(Graph& graph) const;
  /// The way back, for a graph that a pass has changed: false, and `sized` is of no use, where that is not
  /// possible.
  bool Restore(const Graph& original, Graph& sized) const;

 private:
  int64_t NumberOf(const Dim& dim) const;
  bool TooLarge(const Graph& graph) const;
  bool TellsApart(const Graph& graph);
  bool SameDims(const Value& before, const Value& after) const;
  bool RestoreConstant(Graph& graph, NodeId node, int input) const;

  std::vector<int64_t> sizes_;          ///< By SymbolId.
  std::map<int64_t, Dim> expressions_;  ///< Of the numbers that stand for one.
  std::set<int64_t> numbers_;           ///< The dimensions that are numbers.
};

}  // namespace skiff
