/// What is written with a graph beside its plans: how pictures become its inputs, and its outputs' labels.
#pragma once

#include "convert.h"

namespace skiff {

/// What the options say and, for ports that they leave open, what the source says of them. Throws Error
/// (kInvalidArgument) where an option fits no port.
WriteOptions WriteOptionsFor(const Graph& graph, const ConvertOptions& options);

}  // namespace skiff
