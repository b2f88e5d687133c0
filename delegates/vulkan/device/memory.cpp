#include "delegates/vulkan/device/memory.h"

#include <utility>

namespace skiff::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kHost =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/// Wishes in their order; the last one of each use exists on every device.
struct Wish {
  MemoryUse use;
  VkMemoryPropertyFlags flags;
  bool unified_only;  ///< On a device that shares the host's memory; elsewhere mapped memory is slow memory.
};

constexpr Wish kWishes[] = {
    {MemoryUse::kDevice, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
     true},
    {MemoryUse::kDevice, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kHost, true},
    {MemoryUse::kDevice, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, false},
    {MemoryUse::kUpload, kHost, false},
    {MemoryUse::kDownload, kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, false},
    {MemoryUse::kDownload, kHost, false},
};

bool IsUnified(const Device& device) {
  return device.properties().deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
         device.properties().deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

/// -1: no type of the device grants a wish.
int FindType(const Device& device, MemoryUse use, uint32_t allowed) {
  for (const Wish& wish : kWishes) {
    if (wish.use != use || (wish.unified_only && !IsUnified(device))) continue;
    for (uint32_t i = 0; i < device.memory().memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = device.memory().memoryTypes[i].propertyFlags;
      if (((allowed >> i) & 1u) != 0 && (flags & wish.flags) == wish.flags) return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (!device_ || device_->stuck()) return;
  vkDestroyBuffer(device_->handle(), buffer_, nullptr);
  vkFreeMemory(device_->handle(), memory_, nullptr);
}

Result<Buffer> Buffer::Create(const std::shared_ptr<Device>& device, uint64_t bytes, MemoryUse use,
                              const VulkanOptions& options) {
  Buffer made;
  made.device_ = device;
  made.bytes_ = bytes;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (use != MemoryUse::kUpload) info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  SKIFF_RETURN_IF_ERROR(
      Check(vkCreateBuffer(device->handle(), &info, nullptr, &made.buffer_), "vkCreateBuffer"));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device->handle(), made.buffer_, &needs);
  const int type = FindType(*device, use, needs.memoryTypeBits);
  if (type < 0) return Fail(StatusCode::kUnsupported, "'%s' has no memory for buffers", device->name());
  VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = static_cast<uint32_t>(type);
  const VkResult result = options.fault == VulkanFault::kOutOfMemory
                              ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                              : vkAllocateMemory(device->handle(), &allocation, nullptr, &made.memory_);
  if (result != VK_SUCCESS) {
    (void)Check(result, "vkAllocateMemory");
    return Fail(StatusCode::kOutOfMemory, "'%s' cannot allocate %llu bytes", device->name(),
                static_cast<unsigned long long>(bytes));
  }
  SKIFF_RETURN_IF_ERROR(
      Check(vkBindBufferMemory(device->handle(), made.buffer_, made.memory_, 0), "vkBindBufferMemory"));
  const VkMemoryPropertyFlags flags = device->memory().memoryTypes[type].propertyFlags;
  const bool staged = use == MemoryUse::kDevice && (options.force_staging || !IsUnified(*device));
  if (staged || (flags & kHost) != kHost) return made;
  void* address = nullptr;
  SKIFF_RETURN_IF_ERROR(
      Check(vkMapMemory(device->handle(), made.memory_, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory"));
  made.mapped_ = static_cast<unsigned char*>(address);
  return made;
}

}  // namespace skiff::vulkan
