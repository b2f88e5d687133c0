/// What the Vulkan delegate has lowerings for where an operand is quantised.
#pragma once

#include "skiff/delegate.h"

namespace skiff::vulkan {

/// Whether lowerings.def has a lowering for a node of such types, none of them quantised.
bool SupportsPlain(const NodeTypes& node);
/// Whether quantized.def has a lowering for such a node, by types alone.
bool SupportsQuantized(const NodeTypes& node);

}  // namespace skiff::vulkan
