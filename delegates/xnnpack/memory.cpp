#include "delegates/xnnpack/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <xnnpack.h>

#include "core/memory_account.h"
#include "delegates/xnnpack/cpu.h"
#include "skiff/log.h"

namespace skiff::xnnpack {
namespace {

/// Where XNNPACK asks for less it does not always look whether it got it; see AllocationLimit::reached().
constexpr size_t kLargeBytes = size_t{1} << 20;

bool Refused(size_t bytes) { return bytes >= kLargeBytes && RefusesMemory(bytes); }

constexpr size_t kSpareBytes = 64;
thread_local void* spare = nullptr;

void* Allocate(void*, size_t bytes) { return Refused(bytes) ? nullptr : CountMemory(malloc(bytes)); }

void Deallocate(void*, void* memory) {
  UncountMemory(memory);
  free(memory);
}

void* Reallocate(void*, void* memory, size_t bytes) {
  if (!Refused(bytes)) {
    UncountMemory(memory);
    void* const moved = realloc(memory, bytes > 0 ? bytes : 1);
    CountMemory(moved == nullptr ? memory : moved);
    if (moved != nullptr) return moved;
  }
  if (spare == nullptr || bytes > kSpareBytes) return nullptr;
  void* const moved = spare;
  spare = nullptr;
  if (memory != nullptr)
    memcpy(moved, memory, bytes < malloc_usable_size(memory) ? bytes : malloc_usable_size(memory));
  Deallocate(nullptr, memory);
  return CountMemory(moved);
}

void* AllocateAligned(void*, size_t alignment, size_t bytes) {
  void* memory = nullptr;
  if (Refused(bytes)) return nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? CountMemory(memory) : nullptr;
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

Status Spare::Find() {
  if (spare == nullptr) spare = malloc(kSpareBytes);
  return spare == nullptr ? Status(StatusCode::kOutOfMemory) : OkStatus();
}

Spare::~Spare() {
  free(spare);
  spare = nullptr;
}

}  // namespace skiff::xnnpack
