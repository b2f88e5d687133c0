/// Files of the cache folder that are for one driver and device, and are believed by no other.
#pragma once

#include "core/platform.h"
#include "delegates/vulkan/device/device.h"

namespace skiff::vulkan {

/// What a file holds.
struct CacheFileKind {
  char magic[9];          ///< Eight characters.
  const char* extension;  ///< Of the name, and what it is called in messages.
  const char* otherwise;  ///< What happens without the file, for messages.
  uint64_t version = 0;   ///< Content of another version is not believed.
};

/// The content of the folder's file, mapped.
class CacheFile {
 public:
  /// Nothing where `folder` is null or there is no such file; with a warning where it is damaged, too.
  CacheFile(const Device& device, const CacheFileKind& kind, const char* folder);
  ~CacheFile();
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  Span<const uint8_t> content() const { return content_; }

 private:
  platform::MappedFile file_;
  Span<const uint8_t> content_;
};

/// Replaces the folder's file whole or not at all. That it cannot be written is a warning only.
void StoreCacheFile(const Device& device, const CacheFileKind& kind, const char* folder,
                    Span<const uint8_t> content);

}  // namespace skiff::vulkan
