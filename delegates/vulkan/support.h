/// What the Vulkan delegate has lowerings for, by types alone. No Vulkan header is needed.
#pragma once

#include "skiff/delegate.h"

namespace skiff {

const DelegateSupport& VulkanSupport();

}  // namespace skiff
