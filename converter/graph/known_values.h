/// The elements of tensors that are fixed although nodes compute them: axes and sizes that exporters derive
/// from ranks and constants, matrices that a composition needs.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace skiff {

/// What shape inference knows, or else what the reference kernels make of it. Nothing where the elements
/// depend on an input's elements or on open extents, where a node on the way has an effect or bodies, and
/// where a tensor on the way has more than `max_elements`.
std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements = 1024);
/// The same of large tensors. What is computed on the way is taken from `bytes_left`, which others go on
/// with; nothing where that is not enough.
std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements,
                                         int64_t& bytes_left);

}  // namespace skiff
