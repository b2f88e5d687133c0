/// The name of a cache file in the folder that the application gave.
#pragma once

#include <cstdint>
#include <cstdio>

namespace skiff {

/// FOLDER/skiff-ID.KIND; empty where that is longer than a path can be, so that opening it fails.
struct CachePath {
  char text[4096];

  CachePath(const char* folder, uint64_t id, const char* kind) {
    const int length = std::snprintf(text, sizeof(text), "%s/skiff-%016llx.%s", folder,
                                     static_cast<unsigned long long>(id), kind);
    if (length < 0 || length >= static_cast<int>(sizeof(text))) text[0] = 0;
  }
};

}  // namespace skiff
