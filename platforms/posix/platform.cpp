// The platform seam on POSIX systems, Android included.
#include "core/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __ANDROID__
#include <android/log.h>
#endif

namespace skiff::platform {

void DefaultLog(LogLevel level, const char* message) {
#ifdef __ANDROID__
  constexpr int kPriorities[] = {ANDROID_LOG_INFO, ANDROID_LOG_WARN, ANDROID_LOG_ERROR};
  __android_log_print(kPriorities[static_cast<int>(level)], "skiff", "%s", message);
#else
  constexpr const char* kPrefixes[] = {"", "warning: ", "error: "};
  fprintf(stderr, "skiff: %s%s\n", kPrefixes[static_cast<int>(level)], message);
#endif
}

void DefaultPrint(const char* text) {
#ifdef __ANDROID__
  __android_log_print(ANDROID_LOG_INFO, "skiff", "%s", text);
#else
  fprintf(stderr, "%s\n", text);
#endif
}

uint64_t NowNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void* AllocateAligned(size_t bytes) {
  void* memory = nullptr;
  return posix_memalign(&memory, 64, bytes == 0 ? 64 : bytes) == 0 ? memory : nullptr;
}

void FreeAligned(void* memory) { free(memory); }

Result<MappedFile> MapFile(const char* path) {
  const auto fail = [path](const char* what) {
    return Fail(StatusCode::kIo, "%s: %s: %s", path, what, strerror(errno));
  };
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return fail("cannot be opened");
  struct stat info = {};
  if (fstat(file, &info) != 0) {
    const Status status = fail("cannot be examined");
    close(file);
    return status;
  }
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    close(file);
    return Fail(StatusCode::kIo, "%s: %s", path,
                S_ISREG(info.st_mode) ? "is empty; convert the model again"
                                      : "is no regular file; name a .skiff file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) {
    const Status status = fail("cannot be mapped");
    close(file);
    return status;
  }
  close(file);
  return MappedFile{static_cast<const uint8_t*>(data), size};
}

void UnmapFile(const MappedFile& file) { munmap(const_cast<uint8_t*>(file.data), file.size); }

int UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  const int count = CPU_COUNT(&cores);
  return count < 1 ? 1 : count;
}

}  // namespace skiff::platform
