/// Compiled shaders: each is made once per device, many at a time on several threads.
#pragma once

#include <mutex>

#include "delegates/vulkan/device/device.h"
#include "delegates/vulkan/device/list.h"
#include "delegates/vulkan/pipelines/shader_code.h"

namespace skiff::vulkan {

/// A shader with its specialisation constants. Nothing that varies inside a bucket is among them.
struct PipelineKey {
  static constexpr int kMaxConstants = 8;

  Shader shader = Shader::kUnary;
  VulkanPrecision precision = VulkanPrecision::kF32;
  uint32_t constants[kMaxConstants] = {};  ///< 0: invocations of a work group; then the shader's own.

  bool operator==(const PipelineKey&) const = default;
};

struct Pipeline {
  PipelineKey key;
  VkPipeline handle = VK_NULL_HANDLE;
};

class Pipelines {
 public:
  explicit Pipelines(Device& device) : device_(device) {}
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  /// Makes those that do not exist yet, and keeps them in the cache folder (null: none), whose
  /// file is read before the first is made. kUnsupported: the driver cannot compile one of them; the message
  /// names it.
  Status Make(Span<const PipelineKey> keys, const VulkanOptions& options, const char* cache_folder);
  /// VK_NULL_HANDLE for what was never made.
  VkPipeline Find(const PipelineKey& key);
  /// How many were made so far.
  size_t made();

 private:
  VkPipeline FindLocked(const PipelineKey& key) const;
  Status CreateAll(Span<Pipeline> wanted);

  Device& device_;
  std::mutex lock_;
  List<Pipeline> pipelines_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
};

}  // namespace skiff::vulkan
