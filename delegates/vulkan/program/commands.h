/// One command buffer with its pool, descriptor sets and fence: recorded once, run many times.
#pragma once

#include "delegates/vulkan/program/program.h"

namespace skiff::vulkan {

/// What was written in the first stage is seen by accesses in the second.
void Barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
             VkPipelineStageFlags to, VkAccessFlags accessed);

class Commands {
 public:
  Commands() = default;
  ~Commands();
  Commands(Commands&& other) noexcept;
  Commands& operator=(Commands&& other) noexcept;

  /// Makes everything ready for a new recording with up to `sets` dispatches, the last of which is forgotten.
  Status Begin(const std::shared_ptr<Device>& device, uint32_t sets);
  VkCommandBuffer handle() const { return commands_; }
  /// A descriptor set over these buffers.
  Result<VkDescriptorSet> Bind(Span<const VkDescriptorBufferInfo> buffers);
  Status End();
  /// Hands the commands to the queue and waits until they are done.
  Status Run(VulkanFault fault = VulkanFault::kNone);

 private:
  void Destroy();

  std::shared_ptr<Device> device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  uint32_t sets_ = 0;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace skiff::vulkan
