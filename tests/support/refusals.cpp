#include "tests/support/refusals.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace skiff::testing {

thread_local Refusal of_memory;
thread_local Refusal of_threads;

}  // namespace skiff::testing

using skiff::testing::of_memory;
using skiff::testing::of_threads;

extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
int __real_posix_memalign(void** memory, size_t alignment, size_t size);
void* __real_mmap(void* at, size_t size, int protection, int flags, int file, off_t offset);
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument);

void* __wrap_malloc(size_t size) { return of_memory.Next() ? nullptr : __real_malloc(size); }
void* __wrap_calloc(size_t count, size_t size) {
  return of_memory.Next() ? nullptr : __real_calloc(count, size);
}
void* __wrap_realloc(void* memory, size_t size) {
  return of_memory.Next() ? nullptr : __real_realloc(memory, size);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t size) {
  return of_memory.Next() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}
void* __wrap_mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (!of_memory.Next()) return __real_mmap(at, size, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) {
  return of_threads.Next() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

// operator new(size_t, std::nothrow): size_t is `m` or `j` to the linker.
#define REFUSABLE_NEW(symbol)                                       \
  void* __real_##symbol(size_t size, const std::nothrow_t& tag);    \
  void* __wrap_##symbol(size_t size, const std::nothrow_t& tag) {   \
    return of_memory.Next() ? nullptr : __real_##symbol(size, tag); \
  }
#if __SIZEOF_SIZE_T__ == __SIZEOF_INT__
REFUSABLE_NEW(_ZnwjRKSt9nothrow_t)
#else
REFUSABLE_NEW(_ZnwmRKSt9nothrow_t)
#endif
#undef REFUSABLE_NEW
}
