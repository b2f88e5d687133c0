/// How a VulkanDelegate behaves. Strings must outlive the delegate.
#pragma once

#include <cstdint>

namespace skiff {

/// Something that goes wrong on purpose, so that what is done about it can be tested.
enum class VulkanFault : uint8_t {
  kNone = 0,
  kNoDevice,        ///< The loader finds no device.
  kOldDriver,       ///< The device speaks Vulkan 1.0 only.
  kMissingFeature,  ///< The device has neither 16-bit storage nor 16-bit arithmetic.
  kOutOfMemory,     ///< Device memory cannot be allocated.
  kPipeline,        ///< No pipeline can be made.
  kDeviceLost,      ///< The device is lost when work is handed to it.
  kTooLong,         ///< The work that is handed to it takes too long.
  kWrongResult,     ///< Shaders compute wrong numbers.
};

/// What floats are on the device. Sums, statistics and functions are always computed in f32.
enum class VulkanPrecision : uint8_t {
  kF32 = 0,
  kF16Storage,     ///< Activations and weights are kept in f16.
  kF16Arithmetic,  ///< Convolutions and products with constants also multiply in f16, and add up four
                   ///< products before f32 takes over: twice as fast on most phones, with more rounding, and
                   ///< infinite where four products exceed 65,504.
};

/// Which integer dot products (VK_KHR_shader_integer_dot_product) products of codes are computed with, four
/// codes at a time. Results are the same with and without.
enum class VulkanDot : uint8_t {
  kWhereFast = 0,  ///< Those that the device says it accelerates.
  kNever,
  kAlways,  ///< All, where the device has the extension; the next, one of them.
  kSigned,
  kUnsigned,
  kMixed,  ///< Of a signed and an unsigned operand.
};

/// What becomes of the sizes of work groups that `skiff bench --tune` measured.
enum class VulkanTuning : uint8_t {
  kUse = 0,  ///< They are read from the cache folder.
  kIgnore,   ///< All sizes are by rule.
  kMeasure,  ///< They are measured for each Model, anew, and written: at each new shape, in seconds.
};

/// Lower limits than the device's own, so that what is done about them can be tested. 0: the device's.
struct VulkanLimits {
  uint64_t buffer_range = 0;  ///< Bytes that a shader sees of a buffer; a multiple of 256.
  uint32_t group_count = 0;   ///< Work groups along an axis.
  uint32_t group_size = 0;    ///< Invocations of a work group.
};

struct VulkanOptions {
  /// A device's number in the driver's list, or a part of its name. Null: the fastest kind there is.
  const char* device = nullptr;
  VulkanPrecision precision = VulkanPrecision::kF32;
  /// Copies through staging buffers although the device's memory could be mapped.
  bool force_staging = false;
  /// Loads the validation layer and counts its messages. Process-wide: the first delegate that needs a device
  /// decides.
  bool validation = false;
  /// Names of shaders that must not be used, separated by commas (delegates/vulkan/pipelines/shaders.def):
  /// their nodes run with their reference kernels. Null: none.
  const char* quarantine = nullptr;
  VulkanDot dot = VulkanDot::kWhereFast;
  VulkanTuning tuning = VulkanTuning::kUse;
  /// Invocations of every work group, a power of two, and pixels of an invocation of the shader conv (1, 2 or
  /// 4); 0: by rule, or as measured.
  uint32_t group_size = 0;
  uint32_t conv_tile = 0;
  VulkanFault fault = VulkanFault::kNone;
  VulkanLimits limits;
};

/// From SKIFF_VULKAN_DEVICE, _F16, _STAGING, _VALIDATION, _QUARANTINE, _DOT, _TUNING and _FAULT
/// (docs/vulkan.md).
VulkanOptions VulkanOptionsFromEnvironment();

}  // namespace skiff
