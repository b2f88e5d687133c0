/// The platform seam: what the runtime needs from the operating system. Exactly one implementation is linked
/// (platforms/posix, for Android, too); the choice is made at link time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skiff/log.h"
#include "skiff/span.h"

namespace skiff::platform {

/// Where messages go while no LogSink is set.
void DefaultLog(LogLevel level, const char* message);

/// Where the Print operator's lines go while no PrintSink is set.
void DefaultPrint(const char* text);

/// Monotonic time.
uint64_t NowNanoseconds();

/// What one entry of a translation table stands for, next to pages, on all CPUs that matter. 32 bits of
/// addresses are too few for such alignment.
constexpr uint64_t kHugePage = UINTPTR_MAX > UINT32_MAX ? uint64_t{2} << 20 : UINT64_MAX;

/// Memory aligned to 64 bytes, or null: also where this machine cannot address so many. Much memory may lie
/// in larger pages, and be aligned to these. FreeAligned accepts null.
void* AllocateAligned(uint64_t bytes);
void FreeAligned(void* memory);
/// Says that all of this memory will be written soon. A system may give it at once what it gives otherwise
/// page by page.
void WillFill(void* memory, uint64_t bytes);
/// Says that what this memory holds is no longer needed: a system may take its pages, and gives others when
/// it is written again. False where nothing was done, and the content is as it was.
bool GiveBack(void* memory, uint64_t bytes);

/// One state of one file: what has been written to since, or is another file, has another identity. No
/// program can choose the time of the last change that is part of it.
struct FileIdentity {
  uint64_t parts[4] = {};
  bool operator==(const FileIdentity&) const = default;
  bool known() const { return !(*this == FileIdentity()); }
};

/// A file mapped read-only. Pages come in when they are touched.
struct MappedFile {
  const uint8_t* data = nullptr;
  size_t size = 0;
  FileIdentity identity;
};
/// kIo names the path and the system's reason in the log. Directories and empty files are errors.
Result<MappedFile> MapFile(const char* path);
void UnmapFile(const MappedFile& file);

/// False also where that cannot be found out.
bool FileExists(const char* path);
/// Puts the parts, one after the other, in the place of the file at `path`, whole or not at all: other
/// processes see the old file or the new one, and mappings of the old one stay as they are. Where another
/// process is doing so at this moment, its file is left to be the new one, and that is kOk. kIo names the
/// path and the system's reason in the log. Not flushed to the disk: after a power cut the file may be
/// damaged.
Status ReplaceFile(const char* path, Span<const Span<const uint8_t>> parts);

/// Bytes that nobody can foresee. kIo where the system has none to give.
Status FillRandom(Span<uint8_t> bytes);

/// Cores that this process may run on (its affinity mask); at least 1.
int UsableCores();

}  // namespace skiff::platform
