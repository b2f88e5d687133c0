/// Rewriting rules of Canonicalize, grouped by theme. Each rule looks at one typed node of its operator.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace skiff {

struct CanonicalRule {
  OpCode op;
  /// True when it changed something; the node may be gone then. A rule must not fire on its own result.
  bool (*apply)(Graph& graph, NodeId node);
};

/// What --explain says of a node that left its input as it was.
constexpr const char* kDoesNothing = "does nothing: removed";

const std::vector<CanonicalRule>& ReshapeRules();     ///< Reshape and its kin, Transpose, Identity, Cast.
const std::vector<CanonicalRule>& SliceRules();       ///< Slice, Split, Gather, Concat, Pad, Expand.
const std::vector<CanonicalRule>& ScatterRules();     ///< ScatterND.
const std::vector<CanonicalRule>& WindowRules();      ///< Convolutions and pools.
const std::vector<CanonicalRule>& ArithmeticRules();  ///< Elementwise operators, reductions, products.

}  // namespace skiff
