/// The platform seam: what the runtime needs from the operating system. Exactly one implementation is linked
/// (platforms/posix, platforms/android); the choice is made at link time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skiff/log.h"

namespace skiff::platform {

/// Where messages go while no LogSink is set.
void DefaultLog(LogLevel level, const char* message);

/// Where the Print operator's lines go while no PrintSink is set.
void DefaultPrint(const char* text);

/// Monotonic time.
uint64_t NowNanoseconds();

/// Memory aligned to 64 bytes, or null. `Free` accepts null.
void* AllocateAligned(size_t bytes);
void FreeAligned(void* memory);

/// A file mapped read-only. Pages come in when they are touched.
struct MappedFile {
  const uint8_t* data = nullptr;
  size_t size = 0;
};
/// kIo names the path and the system's reason in the log. Directories and empty files are errors.
Result<MappedFile> MapFile(const char* path);
void UnmapFile(const MappedFile& file);

/// Cores that this process may run on (its affinity mask); at least 1.
int UsableCores();

}  // namespace skiff::platform
