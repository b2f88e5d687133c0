#include "tests/support/vulkan.h"

#ifdef SKIFF_WITH_VULKAN
#include "core/error_capture.h"
#include "delegates/vulkan/device.h"
#endif

namespace skiff::testing {

#ifdef SKIFF_WITH_VULKAN

bool HasVulkan() {
  static const bool has = [] {
    ErrorCapture quiet;
    return vulkan::Device::Get(VulkanOptionsFromEnvironment()).ok();
  }();
  return has;
}

bool VulkanStoresF16() { return VulkanOptionsFromEnvironment().precision != VulkanPrecision::kF32; }
uint64_t VulkanMessages() { return vulkan::ValidationMessages(); }

#else

bool HasVulkan() { return false; }
bool VulkanStoresF16() { return false; }
uint64_t VulkanMessages() { return 0; }

#endif

}  // namespace skiff::testing
