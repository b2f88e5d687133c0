/// How the file stores constants of f32: narrower, where they are widened to the same bits when it is opened.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace skiff {

/// The integers whose numbers the value holds: it is what a Dequantize makes of a constant. Null for others,
/// and where a node or the graph has to make the value.
const TensorData* CodesBehind(const Graph& graph, ValueId value);

/// Whether integers and their scales take less room than their numbers, and enough of it to be worth a form
/// of their own.
bool IsNarrower(const TensorData& codes);

/// The same elements as f16; nothing where one of them is none, or where there are too few to be worth it.
std::optional<TensorData> AsHalves(const TensorView& floats);

}  // namespace skiff
