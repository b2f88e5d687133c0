#include "tests/support/vulkan.h"

#ifdef SKIFF_WITH_VULKAN
#include "core/error_capture.h"
#include "delegates/vulkan/device/device.h"
#endif

namespace skiff::testing {

#ifdef SKIFF_WITH_VULKAN

bool HasVulkan() {
  // Kept, so that Models which come and go make each pipeline once.
  static const auto device = [] {
    ErrorCapture quiet;
    return vulkan::Device::Get(VulkanOptionsFromEnvironment());
  }();
  return device.ok();
}

bool VulkanStoresF16() { return VulkanOptionsFromEnvironment().precision != VulkanPrecision::kF32; }
uint64_t VulkanMessages() { return vulkan::ValidationMessages(); }

#else

bool HasVulkan() { return false; }
bool VulkanStoresF16() { return false; }
uint64_t VulkanMessages() { return 0; }

#endif

}  // namespace skiff::testing
