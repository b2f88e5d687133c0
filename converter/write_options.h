/// What is written with graphs beside their plans: how pictures become inputs, and outputs' labels.
#pragma once

#include <vector>

#include "convert.h"

namespace skiff {

/// For each graph of a file what the options say and, for ports that they leave open, what the source says of
/// them. Throws Error (kInvalidArgument) where an option fits no port of any graph.
std::vector<PortSettings> PortSettingsFor(const std::vector<const Graph*>& graphs,
                                          const ConvertOptions& options);

}  // namespace skiff
