/// The driver's compiled pipelines in a file, so that the next start need not compile them.
#pragma once

#include "delegates/vulkan/device/device.h"

namespace skiff::vulkan {

/// A cache with what the folder's file for this device and driver holds; an empty one where there is no such
/// file, where it is damaged, or where `folder` is null.
Result<VkPipelineCache> LoadPipelineCache(const Device& device, const char* folder);

/// Replaces the file whole or not at all. That it cannot be written is a warning only.
void StorePipelineCache(const Device& device, VkPipelineCache cache, const char* folder);

}  // namespace skiff::vulkan
