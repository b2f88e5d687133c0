// The platform seam on POSIX systems, Android included.
#include "core/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

/// Kernels stream weights from memory faster where these lie in huge pages: a table's entry serves 512 times
/// as many of them. Only whole ones are asked for, so that no memory is taken that is not wanted.
void* AllocateAligned(uint64_t bytes) {
  void* memory = nullptr;
  if (bytes > PTRDIFF_MAX) return nullptr;
  const size_t alignment = bytes < kHugePage ? 64 : static_cast<size_t>(kHugePage);
  if (posix_memalign(&memory, alignment, bytes == 0 ? 64 : static_cast<size_t>(bytes)) != 0) return nullptr;
#ifdef __linux__
  // A system that has none says so, and nothing is lost.
  if (bytes >= kHugePage) madvise(memory, static_cast<size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
#endif
  return memory;
}

void FreeAligned(void* memory) { free(memory); }

void WillFill(void* memory, uint64_t bytes) {
#ifdef __linux__
  // Since Linux 5.14; an older one refuses, and nothing is lost. Headers may be older than the system.
  constexpr int kPopulateForWriting = 23;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t before = (page - reinterpret_cast<uintptr_t>(memory) % page) % page;
  if (bytes < before + page) return;
  madvise(static_cast<char*>(memory) + before, static_cast<size_t>((bytes - before) / page * page),
          kPopulateForWriting);
#endif
}

bool GiveBack(void* memory, uint64_t bytes) {
#ifdef __linux__
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t before = (page - reinterpret_cast<uintptr_t>(memory) % page) % page;
  if (bytes < before + page) return false;
  return madvise(static_cast<char*>(memory) + before, static_cast<size_t>((bytes - before) / page * page),
                 MADV_DONTNEED) == 0;
#else
  (void)memory;
  (void)bytes;
  return false;
#endif
}

namespace {

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

/// Not the number of the file system: some get another one each time they are mounted.
FileIdentity IdentityOf(const struct stat& info) {
  return {{info.st_ino, static_cast<uint64_t>(info.st_size), Nanoseconds(info.st_mtim),
           Nanoseconds(info.st_ctim)}};
}

}  // namespace

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
  if (static_cast<uint64_t>(info.st_size) > PTRDIFF_MAX) {
    close(file);
    return Fail(StatusCode::kIo, "%s: has %lld bytes, more than this machine can address", path,
                static_cast<long long>(info.st_size));
  }
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) {
    const Status status = fail("cannot be mapped");
    close(file);
    return status;
  }
  close(file);
  return MappedFile{static_cast<const uint8_t*>(data), size, IdentityOf(info)};
}

void UnmapFile(const MappedFile& file) { munmap(const_cast<uint8_t*>(file.data), file.size); }

bool FileExists(const char* path) { return access(path, F_OK) == 0; }

namespace {

bool WriteAll(int file, Span<const Span<const uint8_t>> parts) {
  for (const Span<const uint8_t>& part : parts) {
    size_t written = 0;
    while (written < part.size()) {
      const ssize_t count = write(file, part.data() + written, part.size() - written);
      if (count == 0) errno = ENOSPC;  // Would be so for ever.
      if (count <= 0 && errno != EINTR) return false;
      if (count > 0) written += static_cast<size_t>(count);
    }
  }
  return true;
}

/// The file that the name stands for is the one that is open: nobody has renamed or removed it since.
bool IsAt(int file, const char* path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(file, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

Status ReplaceFile(const char* path, Span<const Span<const uint8_t>> parts) {
  const auto fail = [path] {
    return Fail(StatusCode::kIo, "%s cannot be written: %s", path, strerror(errno));
  };
  char temporary[4096];
  if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= static_cast<int>(sizeof(temporary))) {
    errno = ENAMETOOLONG;
    return fail();
  }
  // One temporary name, so that a process that was killed leaves one file at most, which the next one takes
  // over; the lock keeps two processes from writing to it at once.
  const int file = open(temporary, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return fail();
  Status status = OkStatus();
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && IsAt(file, temporary)) {
    if (ftruncate(file, 0) != 0 || !WriteAll(file, parts) || rename(temporary, path) != 0) {
      status = fail();
      unlink(temporary);
    }
  }
  close(file);
  return status;
}

Status FillRandom(Span<uint8_t> bytes) {
  constexpr const char* kSource = "/dev/urandom";  // Android has getrandom() since version 9 only.
  const int file = open(kSource, O_RDONLY | O_CLOEXEC);
  size_t filled = 0;
  while (file >= 0 && filled < bytes.size()) {
    const ssize_t count = read(file, bytes.data() + filled, bytes.size() - filled);
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    if (count > 0) filled += static_cast<size_t>(count);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (filled == bytes.size()) return OkStatus();
  return Fail(StatusCode::kIo, "%s cannot be read: %s", kSource, strerror(error));
}

int UsableCores() {
  // The kernel refuses a set that is shorter than its own, however many cores there are.
  constexpr size_t kMostCores = size_t{1} << 20;
  for (size_t cores = CPU_SETSIZE; cores <= kMostCores; cores *= 2) {
    cpu_set_t* const set = CPU_ALLOC(cores);
    if (set == nullptr) return 1;
    const size_t size = CPU_ALLOC_SIZE(cores);
    CPU_ZERO_S(size, set);
    const bool known = sched_getaffinity(0, size, set) == 0;
    const bool too_short = !known && errno == EINVAL;
    const int count = known ? CPU_COUNT_S(size, set) : 1;
    CPU_FREE(set);
    if (!too_short) return count < 1 ? 1 : count;
  }
  return 1;
}

}  // namespace skiff::platform
