#include "delegates/xnnpack/thread_pool.h"

#include <string.h>

#include <new>

#include "delegates/xnnpack/workers.h"
#include "skiff/log.h"

namespace skiff::xnnpack {

Result<std::unique_ptr<Pool>> CreatePool(int threads) {
  pthreadpool_t made = nullptr;
  size_t beside = 0;
  if (const int error = skiff_pool_create(static_cast<size_t>(threads), &made, &beside); error != 0) {
    return Fail(StatusCode::kOutOfMemory,
                "cannot make a pool of %d threads: the system gave %zu more, then: %s; ask "
                "for fewer threads",
                threads, beside, strerror(error));
  }
  std::unique_ptr<Pool> pool(new (std::nothrow) Pool(made));
  if (pool) return pool;
  pthreadpool_destroy(made);
  return Fail(StatusCode::kOutOfMemory, "cannot allocate a pool of %d threads", threads);
}

}  // namespace skiff::xnnpack
