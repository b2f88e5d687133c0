#include "delegates/vulkan/pipeline_cache.h"

#include <cstring>

#include "core/cache_path.h"
#include "core/checksum.h"
#include "core/error_capture.h"
#include "core/fixed_array.h"
#include "core/platform.h"

namespace skiff::vulkan {
namespace {

/// In front of the driver's data. Everything that tells one driver and device from another is in it; drivers
/// are known to crash on data that is not theirs.
struct Header {
  char magic[8] = {'S', 'K', 'I', 'F', 'F', 'V', 'K', '2'};
  uint32_t vendor = 0;
  uint32_t device = 0;
  uint32_t driver_version = 0;
  uint32_t api_version = 0;
  uint8_t cache_uuid[VK_UUID_SIZE] = {};
  uint8_t device_uuid[VK_UUID_SIZE] = {};
  uint8_t driver_uuid[VK_UUID_SIZE] = {};
  uint64_t size = 0;
  uint64_t checksum = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(Header) == 96,
              "no padding, so that it can be compared as bytes; data that drivers can read in place");

Header HeaderOf(const Device& device, Span<const uint8_t> data) {
  Header header;
  header.vendor = device.properties().vendorID;
  header.device = device.properties().deviceID;
  header.driver_version = device.properties().driverVersion;
  header.api_version = device.properties().apiVersion;
  std::memcpy(header.cache_uuid, device.properties().pipelineCacheUUID, VK_UUID_SIZE);
  std::memcpy(header.device_uuid, device.identity().deviceUUID, VK_UUID_SIZE);
  std::memcpy(header.driver_uuid, device.identity().driverUUID, VK_UUID_SIZE);
  header.size = data.size();
  header.checksum = Checksum(data.data(), data.size());
  return header;
}

CachePath PathOf(const Device& device, const char* folder) {
  const Header header = HeaderOf(device, {});
  return CachePath(folder, Checksum(&header, sizeof(header)), "pipelines");
}

/// The driver's data in the file; empty where it is not to be trusted.
Span<const uint8_t> DataOf(const Device& device, const platform::MappedFile& file) {
  if (file.size < sizeof(Header)) return {};
  const Span<const uint8_t> data(file.data + sizeof(Header), file.size - sizeof(Header));
  const Header expected = HeaderOf(device, data);
  return std::memcmp(file.data, &expected, sizeof(expected)) == 0 ? data : Span<const uint8_t>();
}

Result<VkPipelineCache> Create(const Device& device, Span<const uint8_t> data) {
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  SKIFF_RETURN_IF_ERROR(
      Check(vkCreatePipelineCache(device.handle(), &info, nullptr, &cache), "vkCreatePipelineCache"));
  return cache;
}

}  // namespace

Result<VkPipelineCache> LoadPipelineCache(const Device& device, const char* folder) {
  if (folder == nullptr) return Create(device, {});
  const CachePath path = PathOf(device, folder);
  if (!platform::FileExists(path.text)) return Create(device, {});
  ErrorCapture capture;
  Result<platform::MappedFile> file = platform::MapFile(path.text);
  if (!file.ok()) {
    Log(LogLevel::kWarning, "%s; pipelines are compiled anew", capture.message());
    return Create(device, {});
  }
  const Span<const uint8_t> data = DataOf(device, *file);
  if (data.empty()) Log(LogLevel::kWarning, "%s is damaged; pipelines are compiled anew", path.text);
  Result<VkPipelineCache> cache = Create(device, data);
  platform::UnmapFile(*file);
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
  const Span<const uint8_t> body(data.data(), size);
  const Header header = HeaderOf(device, body);
  const Span<const uint8_t> parts[] = {{reinterpret_cast<const uint8_t*>(&header), sizeof(header)}, body};
  ErrorCapture capture;
  if (platform::ReplaceFile(PathOf(device, folder).text, {parts, 2}).ok()) return;
  Log(LogLevel::kWarning, "%s; pipelines will be compiled at each start", capture.message());
}

}  // namespace skiff::vulkan
