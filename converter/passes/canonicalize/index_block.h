/// Indices of ScatterND that count through a block of a tensor, as exporters write an assignment to a slice.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// A part of the leading axes of a tensor: [begin, begin + extent) along each. Where the axis has no fixed
/// extent, it reaches to its end.
struct IndexBlock {
  std::vector<int64_t> begin;
  std::vector<Dim> extents;
};

/// Nothing where the indices, a constant or what is computed from the axes' extents, do anything else than to
/// name each element of a block in order, the last axis fastest, or reach beyond `dims`.
std::optional<IndexBlock> FindIndexBlock(Graph& graph, ValueId indices, const std::vector<Dim>& dims);

}  // namespace skiff
