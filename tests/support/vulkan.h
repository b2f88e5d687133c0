/// Whether tests can use the GPU, and what the validation layer said.
#pragma once

#include <cstdint>

namespace skiff::testing {

/// A device was found. Loads the validation layer where SKIFF_VULKAN_VALIDATION asks for it.
bool HasVulkan();
/// The GPU keeps activations in f16 (SKIFF_VULKAN_F16).
bool VulkanStoresF16();
/// Messages of the validation layer so far.
uint64_t VulkanMessages();

}  // namespace skiff::testing
