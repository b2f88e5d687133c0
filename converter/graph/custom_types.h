/// The types of a custom operator's results, where a shape rule over numbers is all that there is.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/op.h"

namespace skiff {

/// Fills the outputs of a Custom node's context. Where extents of its inputs are open, the rule is asked at a
/// few sizes: an extent that is the same at all of them, or one of an input's up to a constant, is that
/// expression, which the device checks at every size; another one becomes a Symbol of its own, which only the
/// device can tell. kInvalidArgument with a message: the rule refuses, or there is none and the file states
/// no types.
Status InferCustomTypes(Graph& graph, const Node& node, InferContext<Dim>& context);

}  // namespace skiff
