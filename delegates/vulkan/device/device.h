/// The GPU: loader, instance, device and one compute queue, shared by all Models that ask for the same one.
#pragma once

#include <volk.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "delegates/vulkan/device/options.h"
#include "delegates/vulkan/pipelines/shader_code.h"
#include "skiff/log.h"

namespace skiff::vulkan {

class Pipelines;

/// kOk, or the kind of failure with the sentence "`what` failed: VkResult name" logged.
Status Check(VkResult result, const char* what);

/// Messages of the validation layer since the process began (VulkanOptions::validation).
uint64_t ValidationMessages();

/// Storage buffers that a shader can have: the least that Vulkan promises.
inline constexpr uint32_t kMaxBindings = 4;
/// Bytes of push constants: the least that Vulkan promises.
inline constexpr uint32_t kPushBytes = 128;

/// Integer dot products of four bytes in a word, by the signs of their operands; or'ed.
enum DotProducts : uint32_t { kSignedDot = 1, kUnsignedDot = 2, kMixedDot = 4 };

class Device {
 public:
  /// The device that the options choose. kUnsupported, and a sentence, where there is none that will do.
  static Result<std::shared_ptr<Device>> Get(const VulkanOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  VkDevice handle() const { return device_; }
  const char* name() const { return properties_.deviceName; }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }
  /// The device's, or those of the options where they are lower.
  VulkanLimits LimitsFor(const VulkanOptions& options) const;
  const VkPhysicalDeviceIDProperties& identity() const { return identity_; }
  const VkPhysicalDeviceMemoryProperties& memory() const { return memory_; }
  uint32_t subgroup_size() const { return subgroup_size_; }
  /// A driver without a GPU, such as lavapipe.
  bool is_software() const { return properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  bool Has(VulkanPrecision precision) const { return precision <= best_precision_; }
  /// Those that products of codes are to be computed with (DotProducts).
  uint32_t DotsFor(const VulkanOptions& options) const;
  /// Ticks of the queue's timestamps are this many nanoseconds; 0: there are none.
  double timestamp_ns() const { return timestamp_ns_; }
  uint32_t queue_family() const { return queue_family_; }
  /// Every shader's: kMaxBindings storage buffers and kPushBytes of push constants.
  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  VkPipelineLayout pipeline_layout() const { return pipeline_layout_; }
  bool lost() const { return lost_; }
  /// It is lost, and still at work that took too long: what that uses must not be destroyed.
  bool stuck() const { return stuck_; }
  /// Shaders that are known to go wrong here.
  bool IsQuarantined(Shader shader) const { return quarantined_[static_cast<size_t>(shader)]; }
  void Quarantine(Shader shader) { quarantined_[static_cast<size_t>(shader)] = true; }
  /// Whether CheckDevice() has been through.
  bool IsChecked(VulkanPrecision precision) const { return checked_[static_cast<size_t>(precision)]; }
  void SetChecked(VulkanPrecision precision) { checked_[static_cast<size_t>(precision)] = true; }
  Pipelines& pipelines() { return *pipelines_; }

  /// kDeviceLost where it is: commands may be at work still, and must not be recorded or run again.
  Status CheckPresent() const;
  /// Hands work to the queue; from any thread.
  Status Submit(VkCommandBuffer commands, VkFence fence);
  /// Until the work is done. kDeviceLost: the device went away, or takes longer than any net could.
  Status Wait(VkFence fence);
  /// As if the device had gone away (VulkanFault::kDeviceLost).
  Status Lose() { return Note(VK_ERROR_DEVICE_LOST, "vkQueueSubmit (a fault that was asked for)"); }
  /// As if its work took too long (VulkanFault::kTooLong).
  Status Stick() { return Note(VK_TIMEOUT, "vkWaitForFences (a fault that was asked for)"); }

 private:
  Device();
  Status Open(VkPhysicalDevice physical, const VulkanOptions& options);
  void FindDots(VkPhysicalDevice physical);
  Status CreateLayouts();
  Status Note(VkResult result, const char* what);

  VkDevice device_ = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties_ = {};
  VkPhysicalDeviceIDProperties identity_ = {};
  VkPhysicalDeviceMemoryProperties memory_ = {};
  uint64_t largest_allocation_ = 0;
  uint32_t subgroup_size_ = 1;
  VulkanPrecision best_precision_ = VulkanPrecision::kF32;
  uint32_t dots_ = 0;       ///< DotProducts that the device has.
  uint32_t fast_dots_ = 0;  ///< And those that it accelerates.
  double timestamp_ns_ = 0;
  uint32_t queue_family_ = 0;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex queue_lock_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout pipeline_layout_ = VK_NULL_HANDLE;
  std::atomic<bool> lost_{false};
  std::atomic<bool> stuck_{false};
  std::atomic<bool> quarantined_[kShaderCount] = {};
  std::atomic<bool> checked_[3] = {};
  std::unique_ptr<Pipelines> pipelines_;
};

}  // namespace skiff::vulkan
