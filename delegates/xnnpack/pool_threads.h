/// Threads for a pthreadpool, made before it. pthreadpool_create() does not look at what pthread_create()
/// returns, and waits for ever for a thread that the system refused.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace skiff {

/// Hands its threads to the pthreadpool_create() of the thread that made it, until it goes; what is left then
/// ends. The pool joins those that it got.
class PoolThreads {
 public:
  static constexpr size_t kMost = 256;

  PoolThreads();
  ~PoolThreads();
  PoolThreads(const PoolThreads&) = delete;
  PoolThreads& operator=(const PoolThreads&) = delete;

  /// 0, or the system's reason why there are only started() of `count`.
  int Start(size_t count);
  size_t started() const { return started_; }

  /// What pthreadpool calls in the place of pthread_create(). EAGAIN when all are given away.
  int Give(pthread_t* thread, void* (*run)(void*), void* argument);

 private:
  struct Waiting {
    PoolThreads* owner = nullptr;
    pthread_t thread = {};
    bool sent = false;
    void* (*run)(void*) = nullptr;  ///< Null: it shall end.
    void* argument = nullptr;
  };
  static void* Wait(void* waiting);
  void Send(Waiting& waiting, void* (*run)(void*), void* argument);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t sent_ = PTHREAD_COND_INITIALIZER;
  Waiting waiting_[kMost];
  size_t started_ = 0;
  size_t given_ = 0;
};

}  // namespace skiff
