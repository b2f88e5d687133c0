#include "delegates/vulkan/pipeline_cache.h"

#include <cstdio>
#include <cstring>

#include "core/fixed_array.h"

namespace skiff::vulkan {
namespace {

/// In front of the driver's data. Everything that tells one driver and device from another is in it; drivers
/// are known to crash on data that is not theirs.
struct Header {
  char magic[8] = {'S', 'K', 'I', 'F', 'F', 'V', 'K', '1'};
  uint32_t vendor = 0;
  uint32_t device = 0;
  uint32_t driver_version = 0;
  uint32_t api_version = 0;
  uint8_t cache_uuid[VK_UUID_SIZE] = {};
  uint8_t device_uuid[VK_UUID_SIZE] = {};
  uint8_t driver_uuid[VK_UUID_SIZE] = {};
  uint64_t size = 0;
  uint64_t hash = 0;
};
static_assert(sizeof(Header) == 88, "the header has no padding, so that it can be compared as bytes");

/// FNV-1a: against damage, not against malice; the folder is the application's own.
uint64_t Hash(const unsigned char* bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

Header HeaderOf(const Device& device, const unsigned char* data, size_t size) {
  Header header;
  header.vendor = device.properties().vendorID;
  header.device = device.properties().deviceID;
  header.driver_version = device.properties().driverVersion;
  header.api_version = device.properties().apiVersion;
  std::memcpy(header.cache_uuid, device.properties().pipelineCacheUUID, VK_UUID_SIZE);
  std::memcpy(header.device_uuid, device.identity().deviceUUID, VK_UUID_SIZE);
  std::memcpy(header.driver_uuid, device.identity().driverUUID, VK_UUID_SIZE);
  header.size = size;
  header.hash = Hash(data, size);
  return header;
}

struct Path {
  char text[1024];
};

Path PathOf(const Device& device, const char* folder) {
  Path path;
  const Header header = HeaderOf(device, nullptr, 0);
  const uint64_t key = Hash(reinterpret_cast<const unsigned char*>(&header), sizeof(header));
  std::snprintf(path.text, sizeof(path.text), "%s/skiff-%016llx.pipelines", folder,
                static_cast<unsigned long long>(key));
  return path;
}

/// The driver's data in the file; empty where the file is absent or not to be trusted.
FixedArray<unsigned char> ReadData(const Device& device, const char* folder) {
  FixedArray<unsigned char> none;
  FixedArray<unsigned char> data;
  std::FILE* file = std::fopen(PathOf(device, folder).text, "rb");
  if (file == nullptr) return none;
  Header header;
  constexpr uint64_t kMost = 1u << 30;
  bool good = std::fread(&header, sizeof(header), 1, file) == 1 && header.size <= kMost &&
              data.Allocate(header.size).ok() &&
              std::fread(data.data(), 1, data.size(), file) == data.size() && std::fgetc(file) == EOF;
  std::fclose(file);
  const Header expected = HeaderOf(device, data.data(), data.size());
  good = good && std::memcmp(&header, &expected, sizeof(header)) == 0;
  if (!good)
    Log(LogLevel::kWarning, "%s is damaged; pipelines are compiled anew", PathOf(device, folder).text);
  return good ? std::move(data) : std::move(none);
}

}  // namespace

Result<VkPipelineCache> LoadPipelineCache(const Device& device, const char* folder) {
  FixedArray<unsigned char> data;
  if (folder != nullptr) data = ReadData(device, folder);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  SKIFF_RETURN_IF_ERROR(
      Check(vkCreatePipelineCache(device.handle(), &info, nullptr, &cache), "vkCreatePipelineCache"));
  return cache;
}

void StorePipelineCache(const Device& device, VkPipelineCache cache, const char* folder) {
  size_t size = 0;
  FixedArray<unsigned char> data;
  if (vkGetPipelineCacheData(device.handle(), cache, &size, nullptr) != VK_SUCCESS ||
      !data.Allocate(size).ok() ||
      vkGetPipelineCacheData(device.handle(), cache, &size, data.data()) != VK_SUCCESS) {
    return;
  }
  const Path path = PathOf(device, folder);
  Path temporary;
  std::snprintf(temporary.text, sizeof(temporary.text), "%s.%p", path.text, static_cast<void*>(&temporary));
  const Header header = HeaderOf(device, data.data(), size);
  std::FILE* file = std::fopen(temporary.text, "wb");
  bool good = file != nullptr && std::fwrite(&header, sizeof(header), 1, file) == 1 &&
              std::fwrite(data.data(), 1, size, file) == size;
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  good = good && std::rename(temporary.text, path.text) == 0;
  if (good) return;
  std::remove(temporary.text);
  Log(LogLevel::kWarning, "%s cannot be written; pipelines will be compiled at each start", path.text);
}

}  // namespace skiff::vulkan
