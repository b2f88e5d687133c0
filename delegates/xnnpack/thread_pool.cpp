#include "delegates/thread_pool.h"

#include <pthreadpool.h>
#include <string.h>

#include "core/thread_count.h"
#include "delegates/xnnpack/pool_threads.h"
#include "skiff/log.h"

namespace skiff {

void DestroyThreadPool::operator()(void* pool) const {
  pthreadpool_destroy(static_cast<pthreadpool_t>(pool));
}

Result<ThreadPool> CreateThreadPool(int threads) {
  SKIFF_ASSIGN_OR_RETURN(const int count, ThreadCount(threads));
  PoolThreads threads_ahead;
  if (const int error = threads_ahead.Start(static_cast<size_t>(count - 1)); error != 0) {
    return Fail(StatusCode::kOutOfMemory,
                "cannot make a pool of %d threads: the system gave %zu beside the calling one, then: %s; ask "
                "for fewer threads",
                count, threads_ahead.started(), strerror(error));
  }
  ThreadPool pool(pthreadpool_create(static_cast<size_t>(count)));
  if (!pool) return Fail(StatusCode::kOutOfMemory, "cannot allocate a pool of %d threads", count);
  return pool;
}

}  // namespace skiff
