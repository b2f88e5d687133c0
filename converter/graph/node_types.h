/// Types of a node's results by the shape rules of ops.def, for graphs whose input types are known.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Elements of a value that are known beforehand, or null. The default knows the constants.
using KnownValues = std::function<const TensorData*(ValueId)>;

/// Whether input `i` may be absent. Resize2d is the only operator with an optional input before a required
/// one.
bool IsOptionalInput(const OpDef& op, size_t i);

/// Whether every present input has a dtype and constant extents, and the value of every shape input is known.
bool CanInfer(const Graph& graph, const Node& node, const KnownValues& known = nullptr);

/// One view without data per result. Throws Error (kInvalidModel) naming the node and its source: where the
/// shape rule refuses, or where an input has no type.
std::vector<TensorView> InferTypes(const Graph& graph, const Node& node, const KnownValues& known = nullptr);

/// The result of a Shape node whose input's extents are constants.
TensorData StaticShape(const Graph& graph, const Node& node);

/// "node 'a' (Conv2d), which comes from Conv 'b'", for messages.
std::string DescribeNode(const Graph& graph, const Node& node);

}  // namespace skiff
