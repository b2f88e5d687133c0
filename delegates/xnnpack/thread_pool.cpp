#include "delegates/thread_pool.h"

#include <pthreadpool.h>

#include "core/thread_count.h"
#include "skiff/log.h"

namespace skiff {

void DestroyThreadPool::operator()(void* pool) const {
  pthreadpool_destroy(static_cast<pthreadpool_t>(pool));
}

Result<ThreadPool> CreateThreadPool(int threads) {
  SKIFF_ASSIGN_OR_RETURN(const int count, ThreadCount(threads));
  ThreadPool pool(pthreadpool_create(static_cast<size_t>(count)));
  if (!pool) return Fail(StatusCode::kOutOfMemory, "cannot allocate a pool of %d threads", count);
  return pool;
}

}  // namespace skiff
