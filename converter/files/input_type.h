/// Whether the tensor of a file is what an input takes, and what to do where it is not.
#pragma once

#include <string>

#include "graph/graph.h"
#include "run/sizes.h"
#include "skiff/model.h"

namespace skiff {

/// `port` as the model has it, `sizes` those that the caller has said. Throws Error (kInvalidArgument) that
/// tells both types, and the way out that fits the kind of file and the difference: another element type,
/// the same extents in another order, the same elements in another shape, another size than the caller has
/// said, or one that only another conversion takes. Open dimensions and their contracts are the Session's
/// business.
void CheckInputType(const std::string& path, const TensorData& tensor, const PortInfo& port,
                    const SymbolSizes& sizes);

}  // namespace skiff
