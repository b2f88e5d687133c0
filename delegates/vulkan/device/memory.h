/// Buffers in device memory.
#pragma once

#include "delegates/vulkan/device/device.h"

namespace skiff::vulkan {

/// Every tensor begins at a multiple of this, which no device's minStorageBufferOffsetAlignment exceeds, and
/// has memory up to the next one: shaders may read and write a tensor's last vec4 whole.
inline constexpr uint64_t kTensorAlignment = 256;

enum class MemoryUse : uint8_t {
  kDevice,    ///< What shaders work on; mapped as well where that costs nothing.
  kUpload,    ///< Written by the host.
  kDownload,  ///< Read by the host; shaders may write it.
};

class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  /// kOutOfMemory: the device has no memory left.
  static Result<Buffer> Create(const std::shared_ptr<Device>& device, uint64_t bytes, MemoryUse use,
                               const VulkanOptions& options);

  VkBuffer handle() const { return buffer_; }
  uint64_t bytes() const { return bytes_; }
  /// Where the host sees it; null where it does not.
  unsigned char* mapped() const { return mapped_; }

 private:
  std::shared_ptr<Device> device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  unsigned char* mapped_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace skiff::vulkan
