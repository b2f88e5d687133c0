#include "delegates/vulkan/pipelines/cache_file.h"

#include <cstring>

#include "core/cache_path.h"
#include "core/checksum.h"
#include "core/error_capture.h"

namespace skiff::vulkan {
namespace {

/// In front of the content. Everything that tells one driver and device from another is in it; drivers are
/// known to crash on data that is not theirs.
struct Header {
  char magic[8] = {};
  uint32_t vendor = 0;
  uint32_t device = 0;
  uint32_t driver_version = 0;
  uint32_t api_version = 0;
  uint8_t cache_uuid[VK_UUID_SIZE] = {};
  uint8_t device_uuid[VK_UUID_SIZE] = {};
  uint8_t driver_uuid[VK_UUID_SIZE] = {};
  uint64_t size = 0;
  uint64_t checksum = 0;
  uint64_t version = 0;
};
static_assert(sizeof(Header) == 96,
              "no padding, so that it can be compared as bytes; content that drivers can read in place");

Header HeaderOf(const Device& device, const CacheFileKind& kind, Span<const uint8_t> content) {
  Header header;
  std::memcpy(header.magic, kind.magic, sizeof(header.magic));
  header.vendor = device.properties().vendorID;
  header.device = device.properties().deviceID;
  header.driver_version = device.properties().driverVersion;
  header.api_version = device.properties().apiVersion;
  std::memcpy(header.cache_uuid, device.properties().pipelineCacheUUID, VK_UUID_SIZE);
  std::memcpy(header.device_uuid, device.identity().deviceUUID, VK_UUID_SIZE);
  std::memcpy(header.driver_uuid, device.identity().driverUUID, VK_UUID_SIZE);
  header.size = content.size();
  header.checksum = Checksum(content.data(), content.size());
  header.version = kind.version;
  return header;
}

/// A new version takes the place of an old one.
CachePath PathOf(const Device& device, CacheFileKind kind, const char* folder) {
  kind.version = 0;
  const Header header = HeaderOf(device, kind, {});
  return CachePath(folder, Checksum(&header, sizeof(header)), kind.extension);
}

}  // namespace

CacheFile::CacheFile(const Device& device, const CacheFileKind& kind, const char* folder) {
  if (folder == nullptr) return;
  const CachePath path = PathOf(device, kind, folder);
  if (!platform::FileExists(path.text)) return;
  ErrorCapture capture;
  Result<platform::MappedFile> file = platform::MapFile(path.text);
  if (!file.ok()) {
    Log(LogLevel::kWarning, "%s; %s", capture.message(), kind.otherwise);
    return;
  }
  file_ = *file;
  if (file_.size >= sizeof(Header)) {
    const Span<const uint8_t> content(file_.data + sizeof(Header), file_.size - sizeof(Header));
    const Header expected = HeaderOf(device, kind, content);
    if (std::memcmp(file_.data, &expected, sizeof(expected)) == 0) content_ = content;
  }
  if (content_.empty())
    Log(LogLevel::kWarning, "%s is damaged or of another version; %s", path.text, kind.otherwise);
}

CacheFile::~CacheFile() {
  if (file_.data != nullptr) platform::UnmapFile(file_);
}

void StoreCacheFile(const Device& device, const CacheFileKind& kind, const char* folder,
                    Span<const uint8_t> content) {
  const Header header = HeaderOf(device, kind, content);
  const Span<const uint8_t> parts[] = {{reinterpret_cast<const uint8_t*>(&header), sizeof(header)}, content};
  ErrorCapture capture;
  if (platform::ReplaceFile(PathOf(device, kind, folder).text, {parts, 2}).ok()) return;
  Log(LogLevel::kWarning, "%s; %s at each start", capture.message(), kind.otherwise);
}

}  // namespace skiff::vulkan
