#include "delegates/xnnpack/thread_pool.h"

#include <string.h>

#include <new>

#include "delegates/xnnpack/pool_threads.h"
#include "skiff/log.h"

namespace skiff::xnnpack {

Result<std::unique_ptr<Pool>> CreatePool(int threads) {
  PoolThreads threads_ahead;
  if (const int error = threads_ahead.Start(static_cast<size_t>(threads - 1)); error != 0) {
    return Fail(StatusCode::kOutOfMemory,
                "cannot make a pool of %d threads: the system gave %zu beside the calling one, then: %s; ask "
                "for fewer threads",
                threads, threads_ahead.started(), strerror(error));
  }
  const pthreadpool_t made = pthreadpool_create(static_cast<size_t>(threads));
  std::unique_ptr<Pool> pool(made == nullptr ? nullptr : new (std::nothrow) Pool(made));
  if (pool) return pool;
  if (made != nullptr) pthreadpool_destroy(made);
  return Fail(StatusCode::kOutOfMemory, "cannot allocate a pool of %d threads", threads);
}

}  // namespace skiff::xnnpack
