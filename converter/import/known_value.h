/// The elements of tensors that are fixed although nodes compute them: axes and sizes that exporters derive
/// from ranks and constants, matrices that a composition needs.
#pragma once

#include <optional>
#include <vector>

#include "import/known_type.h"

namespace skiff {

/// Nothing where the elements depend on an input's elements or on extents that are not known, or where a
/// tensor on the way has more than `max_elements`. `types` are by ValueId.
std::optional<TensorData> FindKnownValue(const Graph& graph, const std::vector<KnownType>& types,
                                         ValueId value, int64_t max_elements = 1024);

}  // namespace skiff
