/// The elements of small values that the graph computes from constants and from what is known of shapes. Axes
/// are attributes in Skiff; exporters and ONNX functions write them as arithmetic on a rank.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "import/known_type.h"

namespace skiff {

/// Nothing where `value` depends on a graph's input, or on more than a few elements or nodes. Throws Error
/// where the arithmetic itself is invalid.
std::optional<TensorData> FindKnownValue(const Graph& graph, const std::vector<KnownType>& types,
                                         ValueId value);

}  // namespace skiff
