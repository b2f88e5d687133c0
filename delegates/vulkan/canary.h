/// Whether a device computes what it should, asked before it is trusted.
#pragma once

#include "delegates/vulkan/device/device.h"

namespace skiff::vulkan {

/// Runs one node of each important shader and compares it with the reference kernel: once per device and
/// storage type. A shader with wrong numbers is quarantined, with a warning: its nodes run with their
/// reference kernels. kUnsupported: all of them are wrong.
Status CheckDevice(const std::shared_ptr<Device>& device, const VulkanOptions& options,
                   const char* cache_folder);

}  // namespace skiff::vulkan
