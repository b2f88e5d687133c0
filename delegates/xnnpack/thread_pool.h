/// The threads that XNNPACK runs on.
#pragma once

#include <pthreadpool.h>

#include <memory>

#include "skiff/delegate.h"

namespace skiff::xnnpack {

class Pool final : public ThreadPool {
 public:
  explicit Pool(pthreadpool_t pool) : pool_(pool) {}
  ~Pool() override { pthreadpool_destroy(pool_); }

  DelegateKind delegate() const override { return DelegateKind::kXnnpack; }
  int threads() const override { return static_cast<int>(pthreadpool_get_threads_count(pool_)); }
  pthreadpool_t get() const { return pool_; }

 private:
  const pthreadpool_t pool_;
};

/// See skiff/thread_pool.h; `threads` is at least 1.
Result<std::unique_ptr<Pool>> CreatePool(int threads);

}  // namespace skiff::xnnpack
