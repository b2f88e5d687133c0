/// The elements of small integer tensors that are fixed although the file computes them: axes and sizes that
/// exporters derive from ranks and constants.
#pragma once

#include <optional>
#include <vector>

#include "import/known_type.h"

namespace skiff {

/// Nothing where the elements depend on an input's elements or on extents that are not known. `types` are by
/// ValueId.
std::optional<TensorData> FindKnownValue(const Graph& graph, const std::vector<KnownType>& types,
                                         ValueId value);

}  // namespace skiff
