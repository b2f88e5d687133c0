#include "delegates/vulkan/device/instance.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "core/fixed_array.h"
#include "delegates/vulkan/device/device.h"

namespace skiff::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::atomic<uint64_t> validation_messages{0};

VKAPI_ATTR VkBool32 VKAPI_CALL CountMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  ++validation_messages;
  Log(LogLevel::kError, "Vulkan validation: %s", data->pMessage);
  return VK_FALSE;
}

bool HasValidationLayer() {
  uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  FixedArray<VkLayerProperties> layers;
  if (!layers.Allocate(count).ok()) return false;
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < VK_SUCCESS) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (std::strcmp(layers[i].layerName, kValidationLayer) == 0) return true;
  }
  return false;
}

Status Create(bool validation, VkInstance* instance) {
  constexpr VkValidationFeatureEnableEXT kSynchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  constexpr const char* kDebugUtils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = CountMessage;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &kSynchronization;
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pEngineName = "Skiff";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (validation) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &kDebugUtils;
  }
  SKIFF_RETURN_IF_ERROR(Check(vkCreateInstance(&info, nullptr, instance), "vkCreateInstance"));
  volkLoadInstance(*instance);
  if (!validation) return OkStatus();
  VkDebugUtilsMessengerEXT made = VK_NULL_HANDLE;
  return Check(vkCreateDebugUtilsMessengerEXT(*instance, &messenger, nullptr, &made),
               "vkCreateDebugUtilsMessengerEXT");
}

}  // namespace

uint64_t ValidationMessages() { return validation_messages; }

Result<VkInstance> SharedInstance(const VulkanOptions& options) {
  static std::mutex lock;
  static VkInstance instance = VK_NULL_HANDLE;
  const std::lock_guard<std::mutex> guard(lock);
  if (instance != VK_NULL_HANDLE) return instance;
  if (volkInitialize() != VK_SUCCESS) {
    return Fail(StatusCode::kUnsupported,
                "there is no Vulkan on this machine: its loader (libvulkan.so.1) was not found");
  }
  if (volkGetInstanceVersion() < VK_API_VERSION_1_1)
    return Fail(StatusCode::kUnsupported, "the Vulkan loader is of version 1.0; Skiff needs 1.1");
  const bool validation = options.validation && HasValidationLayer();
  if (options.validation && !validation)
    Log(LogLevel::kWarning, "the Vulkan validation layer is not installed; nothing is validated");
  SKIFF_RETURN_IF_ERROR(Create(validation, &instance));
  return instance;
}

}  // namespace skiff::vulkan
