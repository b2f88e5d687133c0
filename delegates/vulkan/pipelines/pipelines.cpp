#include "delegates/vulkan/pipelines/pipelines.h"

#include <pthread.h>

#include <algorithm>

#include "core/platform.h"
#include "delegates/vulkan/pipelines/pipeline_cache.h"

namespace skiff::vulkan {
namespace {

Result<VkPipeline> Create(const Device& device, VkPipelineCache cache, const PipelineKey& key) {
  const ShaderCode code = CodeOf(key.shader, key.precision);
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = code.bytes;
  module_info.pCode = code.words;
  VkShaderModule module = VK_NULL_HANDLE;
  SKIFF_RETURN_IF_ERROR(
      Check(vkCreateShaderModule(device.handle(), &module_info, nullptr, &module), "vkCreateShaderModule"));
  VkSpecializationMapEntry entries[PipelineKey::kMaxConstants];
  for (uint32_t i = 0; i < PipelineKey::kMaxConstants; ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo constants{PipelineKey::kMaxConstants, entries, sizeof(key.constants),
                                       key.constants};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = device.pipeline_layout();
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = vkCreateComputePipelines(device.handle(), cache, 1, &info, nullptr, &pipeline);
  vkDestroyShaderModule(device.handle(), module, nullptr);
  if (result == VK_SUCCESS) return pipeline;
  Log(LogLevel::kError, "the driver of '%s' does not compile the shader %s", device.name(),
      ShaderName(key.shader));
  return Check(result, "vkCreateComputePipelines");
}

/// Threads take the next pipeline until there is none left.
struct Batch {
  const Device& device;
  VkPipelineCache cache;
  Span<Pipeline> pipelines;
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};

  void Work() {
    for (size_t i = next++; i < pipelines.size() && !failed; i = next++) {
      Result<VkPipeline> made = Create(device, cache, pipelines[i].key);
      if (made.ok()) {
        pipelines[i].handle = *made;
      } else {
        failed = true;
      }
    }
  }
};

void* WorkOn(void* batch) {
  static_cast<Batch*>(batch)->Work();
  return nullptr;
}

}  // namespace

const char* ShaderName(Shader shader) {
  constexpr const char* kNames[] = {
#define SHADER(Name, file) #file,
#include "delegates/vulkan/pipelines/shaders.def"
#undef SHADER
  };
  return kNames[static_cast<size_t>(shader)];
}

Pipelines::~Pipelines() {
  if (device_.stuck()) return;
  for (const Pipeline& pipeline : pipelines_) vkDestroyPipeline(device_.handle(), pipeline.handle, nullptr);
  vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
}

VkPipeline Pipelines::FindLocked(const PipelineKey& key) const {
  for (const Pipeline& pipeline : pipelines_) {
    if (pipeline.key == key) return pipeline.handle;
  }
  return VK_NULL_HANDLE;
}

VkPipeline Pipelines::Find(const PipelineKey& key) {
  const std::lock_guard<std::mutex> guard(lock_);
  return FindLocked(key);
}

size_t Pipelines::made() {
  const std::lock_guard<std::mutex> guard(lock_);
  return pipelines_.size();
}

Status Pipelines::CreateAll(Span<Pipeline> wanted) {
  Batch batch{device_, cache_, wanted};
  constexpr size_t kMostThreads = 8;
  pthread_t threads[kMostThreads];
  const size_t others =
      std::min({kMostThreads, wanted.size(), static_cast<size_t>(platform::UsableCores())}) - 1;
  size_t started = 0;
  while (started < others && pthread_create(&threads[started], nullptr, WorkOn, &batch) == 0) ++started;
  batch.Work();
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], nullptr);
  if (!batch.failed) return OkStatus();
  for (const Pipeline& pipeline : wanted) vkDestroyPipeline(device_.handle(), pipeline.handle, nullptr);
  return Fail(StatusCode::kUnsupported, "the driver of '%s' cannot compile a shader of Skiff",
              device_.name());
}

Status Pipelines::Make(Span<const PipelineKey> keys, const VulkanOptions& options, const char* cache_folder) {
  const std::lock_guard<std::mutex> guard(lock_);
  List<Pipeline> wanted;
  for (const PipelineKey& key : keys) {
    bool known = FindLocked(key) != VK_NULL_HANDLE;
    for (const Pipeline& pipeline : wanted) known = known || pipeline.key == key;
    if (!known) SKIFF_RETURN_IF_ERROR(wanted.Append({key}));
  }
  if (options.fault == VulkanFault::kPipeline)
    return Fail(StatusCode::kUnsupported, "the driver of '%s' cannot compile a shader of Skiff",
                device_.name());
  if (wanted.empty()) return OkStatus();
  if (cache_ == VK_NULL_HANDLE) {
    SKIFF_ASSIGN_OR_RETURN(cache_, LoadPipelineCache(device_, cache_folder));
  }
  SKIFF_RETURN_IF_ERROR(CreateAll({wanted.begin(), wanted.size()}));
  for (const Pipeline& pipeline : wanted) SKIFF_RETURN_IF_ERROR(pipelines_.Append(pipeline));
  if (cache_folder != nullptr) StorePipelineCache(device_, cache_, cache_folder);
  return OkStatus();
}

}  // namespace skiff::vulkan
