/// What is written with graphs beside their plans: how pictures become inputs, and outputs' labels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "convert.h"

namespace skiff {

/// For each graph of a file what the options say and, for ports that they leave open, what the source says of
/// them. Throws Error (kInvalidArgument) where an option fits no port of any graph.
std::vector<PortSettings> PortSettingsFor(const std::vector<const Graph*>& graphs,
                                          const ConvertOptions& options);

/// What the sources say that has no place of its own, under keys that applications know
/// (docs/model_format.md); of two graphs that say different things of a port of one name, the first one's.
std::vector<std::pair<std::string, std::string>> StatedMetadata(const std::vector<const Graph*>& graphs);

/// A sentence for each output whose labels in the source are those of no axis.
std::vector<std::string> LabelsLeftOut(const Graph& graph);

}  // namespace skiff
