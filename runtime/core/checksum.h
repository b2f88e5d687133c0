/// A checksum against damage, not against malice: cache files lie in a folder of the application's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff {

/// About as fast as memory can be read: independent lanes of 64-bit steps, each invertible, so that a change
/// to one word always shows. Not for files that must mean the same elsewhere: words are read in the machine's
/// byte order.
uint64_t Checksum(const void* bytes, size_t size);

}  // namespace skiff
