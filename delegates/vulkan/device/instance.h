/// The process's one Vulkan instance.
#pragma once

#include <volk.h>

#include "delegates/vulkan/device/options.h"
#include "skiff/log.h"

namespace skiff::vulkan {

/// Loads the Vulkan loader and makes the instance at the first call; it lives as long as the process.
/// kUnsupported: no loader, or one of Vulkan 1.0.
Result<VkInstance> SharedInstance(const VulkanOptions& options);

}  // namespace skiff::vulkan
