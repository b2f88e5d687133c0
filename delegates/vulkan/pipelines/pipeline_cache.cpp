#include "delegates/vulkan/pipelines/pipeline_cache.h"

#include "core/fixed_array.h"
#include "delegates/vulkan/pipelines/cache_file.h"

namespace skiff::vulkan {
namespace {

constexpr CacheFileKind kPipelines = {"SKIFFVK2", "pipelines", "pipelines are compiled anew"};

}  // namespace

Result<VkPipelineCache> LoadPipelineCache(const Device& device, const char* folder) {
  const CacheFile file(device, kPipelines, folder);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = file.content().size();
  info.pInitialData = file.content().data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  SKIFF_RETURN_IF_ERROR(
      Check(vkCreatePipelineCache(device.handle(), &info, nullptr, &cache), "vkCreatePipelineCache"));
  return cache;
}

void StorePipelineCache(const Device& device, VkPipelineCache cache, const char* folder) {
  size_t size = 0;
  FixedArray<uint8_t> data;
  if (vkGetPipelineCacheData(device.handle(), cache, &size, nullptr) != VK_SUCCESS ||
      !data.Allocate(size).ok() ||
      vkGetPipelineCacheData(device.handle(), cache, &size, data.data()) != VK_SUCCESS) {
    return;
  }
  StoreCacheFile(device, kPipelines, folder, {data.data(), size});
}

}  // namespace skiff::vulkan
