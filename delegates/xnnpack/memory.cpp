#include "delegates/xnnpack/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <xnnpack.h>

#include "delegates/xnnpack/cpu.h"
#include "skiff/log.h"

namespace skiff::xnnpack {
namespace {

thread_local int64_t allocated_bytes = 0;

/// Of a MemoryLimit: up to where allocated_bytes may rise.
thread_local int64_t most_bytes = INT64_MAX;
thread_local bool limit_reached = false;
/// Where XNNPACK asks for less it does not always look whether it got it.
constexpr size_t kLargeBytes = size_t{1} << 20;

bool Refused(size_t bytes) {
  if (bytes < kLargeBytes) return false;
  const int64_t left = most_bytes - allocated_bytes;
  if (left >= 0 && bytes <= static_cast<uint64_t>(left)) return false;
  limit_reached = true;
  return true;
}

constexpr size_t kSpareBytes = 64;
thread_local void* spare = nullptr;

void* Counted(void* memory) {
  if (memory != nullptr) allocated_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  return memory;
}

void Uncount(void* memory) {
  if (memory != nullptr) allocated_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
}

void* Allocate(void*, size_t bytes) { return Refused(bytes) ? nullptr : Counted(malloc(bytes)); }

void* Reallocate(void*, void* memory, size_t bytes) {
  const auto before = static_cast<int64_t>(memory == nullptr ? 0 : malloc_usable_size(memory));
  void* moved = Refused(bytes) ? nullptr : realloc(memory, bytes);
  if (moved == nullptr && spare != nullptr && bytes <= kSpareBytes) {
    moved = spare;
    spare = nullptr;
    if (memory != nullptr)
      memcpy(moved, memory, bytes < malloc_usable_size(memory) ? bytes : malloc_usable_size(memory));
    free(memory);
  }
  if (moved != nullptr) allocated_bytes += static_cast<int64_t>(malloc_usable_size(moved)) - before;
  return moved;
}

void Deallocate(void*, void* memory) {
  Uncount(memory);
  free(memory);
}

void* AllocateAligned(void*, size_t alignment, size_t bytes) {
  void* memory = nullptr;
  if (Refused(bytes)) return nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? Counted(memory) : nullptr;
}

constexpr xnn_allocator kAllocator = {nullptr, Allocate, Reallocate, Deallocate, AllocateAligned, Deallocate};

}  // namespace

Status Initialize() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static bool initialized = false;
  pthread_mutex_lock(&mutex);
  Status status;
  if (!initialized) {
    status = LimitCpu();
    const xnn_status found = status.ok() ? xnn_initialize(&kAllocator) : xnn_status_success;
    if (found != xnn_status_success) {
      status = Fail(StatusCode::kUnsupported, "XNNPACK cannot run on this CPU (its status %d)",
                    static_cast<int>(found));
    }
    initialized = status.ok();
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

MemoryLimit::MemoryLimit(uint64_t bytes) {
  most_bytes = bytes < static_cast<uint64_t>(INT64_MAX - allocated_bytes)
                   ? allocated_bytes + static_cast<int64_t>(bytes)
                   : INT64_MAX;
  limit_reached = false;
}
MemoryLimit::~MemoryLimit() { most_bytes = INT64_MAX; }
bool MemoryLimit::reached() const { return limit_reached; }

int64_t AllocatedByThisThread() { return allocated_bytes; }

Status Spare::Find() {
  if (spare == nullptr) spare = malloc(kSpareBytes);
  return spare == nullptr ? Status(StatusCode::kOutOfMemory) : OkStatus();
}

Spare::~Spare() {
  free(spare);
  spare = nullptr;
}

}  // namespace skiff::xnnpack
