/// What a conversion may spend on constants that the source does not have: a small file must not ask for much
/// memory, nor for a long time, by what its nodes make of a few numbers. Bodies share the budget of the graph
/// around them.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Gives a graph its share of the budget of a conversion that has so many of them. Else it has all.
void ShareFoldingBudget(Graph& graph, size_t graphs);

/// Takes the bytes of a new constant from what is left; false, and nothing is taken, where that is less.
bool TakeFoldingBytes(Graph& graph, int64_t bytes);

/// The same for a constant made out of another one, which may be gone then: a copy costs something only where
/// others still use what it was made of.
bool TakeFoldingCopy(Graph& graph, ValueId constant);

/// The elements of a constant, for a pass that computes with them; nothing where no work is left for that:
/// many nodes may share a large constant, and each looks at it.
std::optional<std::vector<double>> TakeNumbers(Graph& graph, const TensorData& data);

/// IntConstant(), likewise.
std::optional<std::vector<int64_t>> CountedIntConstant(Graph& graph, ValueId value);

/// Takes the work of computing so many numbers from what is left.
bool TakeNumberWork(Graph& graph, int64_t count);

/// Takes the work of evaluating a node, whose operands have static shapes, from what is left.
bool TakeFoldingWork(Graph& graph, const Node& node);

}  // namespace skiff
