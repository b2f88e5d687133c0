#include "delegates/vulkan/program/commands.h"

#include <utility>

namespace skiff::vulkan {

void Barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
             VkPipelineStageFlags to, VkAccessFlags accessed) {
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, written, accessed};
  vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

Commands::~Commands() { Destroy(); }

Commands::Commands(Commands&& other) noexcept { *this = std::move(other); }

Commands& Commands::operator=(Commands&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(pool_, other.pool_);
  std::swap(commands_, other.commands_);
  std::swap(descriptors_, other.descriptors_);
  std::swap(sets_, other.sets_);
  std::swap(fence_, other.fence_);
  return *this;
}

void Commands::Destroy() {
  if (!device_ || device_->stuck()) return;
  vkDestroyFence(device_->handle(), fence_, nullptr);
  vkDestroyDescriptorPool(device_->handle(), descriptors_, nullptr);
  vkDestroyCommandPool(device_->handle(), pool_, nullptr);
  device_.reset();
}

Status Commands::Begin(const std::shared_ptr<Device>& device, uint32_t sets) {
  SKIFF_RETURN_IF_ERROR(device->CheckPresent());
  if (!device_) {
    device_ = device;
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device->queue_family();
    SKIFF_RETURN_IF_ERROR(
        Check(vkCreateCommandPool(device->handle(), &pool, nullptr, &pool_), "vkCreateCommandPool"));
    VkCommandBufferAllocateInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    buffer.commandPool = pool_;
    buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffer.commandBufferCount = 1;
    SKIFF_RETURN_IF_ERROR(
        Check(vkAllocateCommandBuffers(device->handle(), &buffer, &commands_), "vkAllocateCommandBuffers"));
    constexpr VkFenceCreateInfo kFence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
    SKIFF_RETURN_IF_ERROR(Check(vkCreateFence(device->handle(), &kFence, nullptr, &fence_), "vkCreateFence"));
  }
  SKIFF_RETURN_IF_ERROR(Check(vkResetCommandPool(device_->handle(), pool_, 0), "vkResetCommandPool"));
  if (sets > sets_) {
    vkDestroyDescriptorPool(device_->handle(), descriptors_, nullptr);
    descriptors_ = VK_NULL_HANDLE;
    sets_ = 0;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sets * kMaxBindings};
    VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    info.maxSets = sets;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    SKIFF_RETURN_IF_ERROR(Check(vkCreateDescriptorPool(device_->handle(), &info, nullptr, &descriptors_),
                                "vkCreateDescriptorPool"));
    sets_ = sets;
  } else if (descriptors_ != VK_NULL_HANDLE) {
    SKIFF_RETURN_IF_ERROR(
        Check(vkResetDescriptorPool(device_->handle(), descriptors_, 0), "vkResetDescriptorPool"));
  }
  constexpr VkCommandBufferBeginInfo kBegin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
  return Check(vkBeginCommandBuffer(commands_, &kBegin), "vkBeginCommandBuffer");
}

Result<VkDescriptorSet> Commands::Bind(Span<const VkDescriptorBufferInfo> buffers) {
  const VkDescriptorSetLayout layout = device_->set_layout();
  VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = descriptors_;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  SKIFF_RETURN_IF_ERROR(
      Check(vkAllocateDescriptorSets(device_->handle(), &info, &set), "vkAllocateDescriptorSets"));
  VkWriteDescriptorSet writes[kMaxBindings];
  uint32_t count = 0;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].buffer == VK_NULL_HANDLE) continue;
    VkWriteDescriptorSet& write = writes[count++];
    write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &buffers[i];
  }
  vkUpdateDescriptorSets(device_->handle(), count, writes, 0, nullptr);
  return set;
}

Status Commands::End() { return Check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer"); }

Status Commands::Run(VulkanFault fault) {
  if (fault == VulkanFault::kDeviceLost) return device_->Lose();
  SKIFF_RETURN_IF_ERROR(device_->CheckPresent());
  if (fault == VulkanFault::kTooLong) return device_->Stick();
  SKIFF_RETURN_IF_ERROR(Check(vkResetFences(device_->handle(), 1, &fence_), "vkResetFences"));
  SKIFF_RETURN_IF_ERROR(device_->Submit(commands_, fence_));
  return device_->Wait(fence_);
}

}  // namespace skiff::vulkan
