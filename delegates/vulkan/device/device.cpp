#include "delegates/vulkan/device/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/fixed_array.h"
#include "delegates/vulkan/device/instance.h"
#include "delegates/vulkan/device/memory.h"
#include "delegates/vulkan/pipelines/pipelines.h"

namespace skiff::vulkan {
namespace {

const char* ResultName(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "out of device memory";
    case VK_ERROR_DEVICE_LOST:
      return "the device is lost";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "initialization failed";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "incompatible driver";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "a feature is not present";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "too many objects";
    case VK_TIMEOUT:
      return "it took too long";
    default:
      return "an error of the driver";
  }
}

StatusCode CodeOf(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
      return StatusCode::kOutOfMemory;
    case VK_ERROR_DEVICE_LOST:
    case VK_TIMEOUT:
      return StatusCode::kDeviceLost;
    case VK_ERROR_INCOMPATIBLE_DRIVER:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_INITIALIZATION_FAILED:
      return StatusCode::kUnsupported;
    default:
      return StatusCode::kInternal;
  }
}

/// Faster kinds first.
int RankOf(VkPhysicalDeviceType type) {
  constexpr VkPhysicalDeviceType kOrder[] = {
      VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
      VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, VK_PHYSICAL_DEVICE_TYPE_OTHER, VK_PHYSICAL_DEVICE_TYPE_CPU};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), type) - std::begin(kOrder));
}

bool IsChosen(const char* chosen, uint32_t index, const char* name) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(chosen, &end, 10);
  return *end == '\0' ? number == index : std::strstr(name, chosen) != nullptr;
}

bool HasExtension(VkPhysicalDevice physical, const char* name) {
  uint32_t count = 0;
  FixedArray<VkExtensionProperties> extensions;
  if (vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr) != VK_SUCCESS) return false;
  if (!extensions.Allocate(count).ok()) return false;
  if (vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data()) < VK_SUCCESS)
    return false;
  return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

/// -1: the device has none.
int ComputeFamily(VkPhysicalDevice physical, uint32_t* timestamp_bits) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  FixedArray<VkQueueFamilyProperties> families;
  if (!families.Allocate(count).ok()) return -1;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    *timestamp_bits = families[i].timestampValidBits;
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  }
  return -1;
}

Result<VkPhysicalDevice> Choose(VkInstance instance, const VulkanOptions& options) {
  uint32_t count = 0;
  SKIFF_RETURN_IF_ERROR(
      Check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices"));
  FixedArray<VkPhysicalDevice> devices;
  SKIFF_RETURN_IF_ERROR(devices.Allocate(count));
  SKIFF_RETURN_IF_ERROR(
      Check(vkEnumeratePhysicalDevices(instance, &count, devices.data()), "vkEnumeratePhysicalDevices"));
  if (options.fault == VulkanFault::kNoDevice) count = 0;
  VkPhysicalDevice best = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties best_properties = {};
  for (uint32_t i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    if (options.device != nullptr && !IsChosen(options.device, i, properties.deviceName)) continue;
    if (best != VK_NULL_HANDLE && RankOf(properties.deviceType) >= RankOf(best_properties.deviceType))
      continue;
    best = devices[i];
    best_properties = properties;
  }
  if (best == VK_NULL_HANDLE) {
    if (options.device != nullptr && count > 0)
      return Fail(StatusCode::kUnsupported, "none of the %u Vulkan devices is '%s'", count, options.device);
    return Fail(StatusCode::kUnsupported, "the Vulkan loader finds no device");
  }
  const uint32_t version =
      options.fault == VulkanFault::kOldDriver ? VK_API_VERSION_1_0 : best_properties.apiVersion;
  if (version < VK_API_VERSION_1_1) {
    return Fail(StatusCode::kUnsupported, "the driver of '%s' speaks Vulkan %u.%u; Skiff needs 1.1",
                best_properties.deviceName, VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  }
  return best;
}

}  // namespace

Status Check(VkResult result, const char* what) {
  if (result >= VK_SUCCESS && result != VK_TIMEOUT) return OkStatus();
  return Fail(CodeOf(result), "Vulkan: %s failed: %s (%d)", what, ResultName(result), result);
}

/// Devices are shared while somebody has one; a lost one is not handed out again.
Result<std::shared_ptr<Device>> Device::Get(const VulkanOptions& options) {
  SKIFF_ASSIGN_OR_RETURN(const VkInstance instance, SharedInstance(options));
  SKIFF_ASSIGN_OR_RETURN(const VkPhysicalDevice physical, Choose(instance, options));
  static std::mutex lock;
  static std::weak_ptr<Device> latest;
  static VkPhysicalDevice latest_physical = VK_NULL_HANDLE;
  const std::lock_guard<std::mutex> guard(lock);
  std::shared_ptr<Device> device = latest.lock();
  if (device && latest_physical == physical && !device->lost()) return device;
  device.reset(new (std::nothrow) Device);
  if (!device) return Fail(StatusCode::kOutOfMemory, "cannot allocate a Vulkan device");
  SKIFF_RETURN_IF_ERROR(device->Open(physical, options));
  latest = device;
  latest_physical = physical;
  return device;
}

Status Device::Open(VkPhysicalDevice physical, const VulkanOptions&) {
  VkPhysicalDeviceMaintenance3Properties allocations{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                              &allocations};
  identity_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, &subgroup};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &identity_};
  vkGetPhysicalDeviceProperties2(physical, &properties);
  identity_.pNext = nullptr;
  properties_ = properties.properties;
  subgroup_size_ = subgroup.subgroupSize;
  largest_allocation_ = allocations.maxMemoryAllocationSize;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory_);

  const char* const arithmetic_extension = VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME;
  const bool has_extension = HasExtension(physical, arithmetic_extension);
  VkPhysicalDeviceShaderFloat16Int8Features arithmetic16{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  storage16.pNext = has_extension ? &arithmetic16 : nullptr;
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &storage16};
  vkGetPhysicalDeviceFeatures2(physical, &features);
  if (storage16.storageBuffer16BitAccess == VK_TRUE) {
    best_precision_ = arithmetic16.shaderFloat16 == VK_TRUE ? VulkanPrecision::kF16Arithmetic
                                                            : VulkanPrecision::kF16Storage;
  }

  FindDots(physical);

  uint32_t timestamp_bits = 0;
  const int family = ComputeFamily(physical, &timestamp_bits);
  if (family < 0)
    return Fail(StatusCode::kUnsupported, "the Vulkan device '%s' has no queue for compute", name());
  queue_family_ = static_cast<uint32_t>(family);
  timestamp_ns_ = timestamp_bits > 0 ? static_cast<double>(properties_.limits.timestampPeriod) : 0.0;

  // Only what the shaders use is turned on.
  storage16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  storage16.storageBuffer16BitAccess = Has(VulkanPrecision::kF16Storage) ? VK_TRUE : VK_FALSE;
  const bool arithmetic = Has(VulkanPrecision::kF16Arithmetic);
  arithmetic16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  arithmetic16.shaderFloat16 = VK_TRUE;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  dot.shaderIntegerDotProduct = VK_TRUE;
  const char* extensions[2] = {};
  uint32_t extension_count = 0;
  if (arithmetic) {
    storage16.pNext = &arithmetic16;
    extensions[extension_count++] = arithmetic_extension;
  }
  if (dots_ != 0) {
    dot.pNext = storage16.pNext;
    storage16.pNext = &dot;
    extensions[extension_count++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
  }
  constexpr float kPriority = 1.0f;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &kPriority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &storage16};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = extension_count;
  info.ppEnabledExtensionNames = extensions;
  SKIFF_RETURN_IF_ERROR(Check(vkCreateDevice(physical, &info, nullptr, &device_), "vkCreateDevice"));
  vkGetDeviceQueue(device_, queue_family_, 0, &queue_);
  return CreateLayouts();
}

void Device::FindDots(VkPhysicalDevice physical) {
  if (!HasExtension(physical, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) return;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &dot};
  vkGetPhysicalDeviceFeatures2(physical, &features);
  if (dot.shaderIntegerDotProduct != VK_TRUE) return;
  VkPhysicalDeviceShaderIntegerDotProductProperties fast{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &fast};
  vkGetPhysicalDeviceProperties2(physical, &properties);
  dots_ = kSignedDot | kUnsignedDot | kMixedDot;
  if (fast.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE) fast_dots_ |= kSignedDot;
  if (fast.integerDotProduct4x8BitPackedUnsignedAccelerated == VK_TRUE) fast_dots_ |= kUnsignedDot;
  if (fast.integerDotProduct4x8BitPackedMixedSignednessAccelerated == VK_TRUE) fast_dots_ |= kMixedDot;
}

uint32_t Device::DotsFor(const VulkanOptions& options) const {
  constexpr uint32_t kAsked[] = {0,        0, kSignedDot | kUnsignedDot | kMixedDot, kSignedDot, kUnsignedDot,
                                 kMixedDot};  // By VulkanDot.
  return options.dot == VulkanDot::kWhereFast ? fast_dots_ : dots_ & kAsked[static_cast<size_t>(options.dot)];
}

Status Device::CreateLayouts() {
  VkDescriptorSetLayoutBinding bindings[kMaxBindings] = {};
  for (uint32_t i = 0; i < kMaxBindings; ++i) {
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = kMaxBindings;
  set.pBindings = bindings;
  SKIFF_RETURN_IF_ERROR(Check(vkCreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_),
                              "vkCreateDescriptorSetLayout"));
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  SKIFF_RETURN_IF_ERROR(
      Check(vkCreatePipelineLayout(device_, &layout, nullptr, &pipeline_layout_), "vkCreatePipelineLayout"));
  pipelines_.reset(new (std::nothrow) Pipelines(*this));
  return pipelines_ ? OkStatus() : Fail(StatusCode::kOutOfMemory, "cannot allocate the list of pipelines");
}

VulkanLimits Device::LimitsFor(const VulkanOptions& options) const {
  const VkPhysicalDeviceLimits& own = properties_.limits;
  // What is bound is rounded up to whole vectors.
  const uint64_t range = std::min<uint64_t>(own.maxStorageBufferRange, largest_allocation_) /
                         kTensorAlignment * kTensorAlignment;
  const auto lower = [](auto limit, auto asked) { return asked == 0 ? limit : std::min(limit, asked); };
  return {lower(range, options.limits.buffer_range),
          lower(std::min(own.maxComputeWorkGroupCount[0], own.maxComputeWorkGroupCount[1]),
                options.limits.group_count),
          lower(std::min(own.maxComputeWorkGroupInvocations, own.maxComputeWorkGroupSize[0]),
                options.limits.group_size)};
}

Device::Device() = default;

Device::~Device() {
  if (device_ == VK_NULL_HANDLE || stuck_) return;
  pipelines_.reset();
  vkDestroyPipelineLayout(device_, pipeline_layout_, nullptr);
  vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
  vkDestroyDevice(device_, nullptr);
}

Status Device::Note(VkResult result, const char* what) {
  const Status status = Check(result, what);
  if (result == VK_TIMEOUT) stuck_ = true;
  if (status.code() == StatusCode::kDeviceLost) lost_ = true;
  return status;
}

Status Device::CheckPresent() const {
  return lost_ ? Fail(StatusCode::kDeviceLost, "'%s' was lost before", name()) : OkStatus();
}

Status Device::Submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const std::lock_guard<std::mutex> guard(queue_lock_);
  return Note(vkQueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

Status Device::Wait(VkFence fence) {
  constexpr uint64_t kTooLong = 600ull * 1000 * 1000 * 1000;
  return Note(vkWaitForFences(device_, 1, &fence, VK_TRUE, kTooLong), "vkWaitForFences");
}

}  // namespace skiff::vulkan
