#include "delegates/vulkan/device/options.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

namespace skiff {
namespace {

const char* Text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool Flag(const char* name) {
  const char* value = Text(name);
  return value != nullptr && std::strcmp(value, "0") != 0;
}

VulkanFault FaultFromName(const char* name) {
  constexpr struct {
    const char* name;
    VulkanFault fault;
  } kRows[] = {
      {"no-device", VulkanFault::kNoDevice},
      {"old-driver", VulkanFault::kOldDriver},
      {"missing-feature", VulkanFault::kMissingFeature},
      {"out-of-memory", VulkanFault::kOutOfMemory},
      {"pipeline", VulkanFault::kPipeline},
      {"device-lost", VulkanFault::kDeviceLost},
      {"too-long", VulkanFault::kTooLong},
      {"wrong-result", VulkanFault::kWrongResult},
  };
  for (const auto& row : kRows) {
    if (name != nullptr && std::strcmp(row.name, name) == 0) return row.fault;
  }
  return VulkanFault::kNone;
}

VulkanPrecision PrecisionFromName(const char* name) {
  if (name == nullptr || std::strcmp(name, "0") == 0) return VulkanPrecision::kF32;
  return std::strcmp(name, "arithmetic") == 0 ? VulkanPrecision::kF16Arithmetic
                                              : VulkanPrecision::kF16Storage;
}

VulkanDot DotFromName(const char* name) {
  constexpr const char* kNames[] = {"fast", "never", "always", "signed", "unsigned", "mixed"};
  for (size_t i = 0; name != nullptr && i < std::size(kNames); ++i) {
    if (std::strcmp(kNames[i], name) == 0) return static_cast<VulkanDot>(i);
  }
  return VulkanDot::kWhereFast;
}

VulkanTuning TuningFromName(const char* name) {
  if (name == nullptr) return VulkanTuning::kUse;
  if (std::strcmp(name, "ignore") == 0) return VulkanTuning::kIgnore;
  return std::strcmp(name, "measure") == 0 ? VulkanTuning::kMeasure : VulkanTuning::kUse;
}

}  // namespace

VulkanOptions VulkanOptionsFromEnvironment() {
  VulkanOptions options;
  options.device = Text("SKIFF_VULKAN_DEVICE");
  options.precision = PrecisionFromName(Text("SKIFF_VULKAN_F16"));
  options.force_staging = Flag("SKIFF_VULKAN_STAGING");
  options.validation = Flag("SKIFF_VULKAN_VALIDATION");
  options.quarantine = Text("SKIFF_VULKAN_QUARANTINE");
  options.dot = DotFromName(Text("SKIFF_VULKAN_DOT"));
  options.tuning = TuningFromName(Text("SKIFF_VULKAN_TUNING"));
  options.fault = FaultFromName(Text("SKIFF_VULKAN_FAULT"));
  return options;
}

}  // namespace skiff
