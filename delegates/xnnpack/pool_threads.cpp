#include "delegates/xnnpack/pool_threads.h"

#include <errno.h>

namespace skiff {
namespace {

thread_local PoolThreads* ahead = nullptr;

}  // namespace

PoolThreads::PoolThreads() { ahead = this; }

PoolThreads::~PoolThreads() {
  ahead = nullptr;
  for (size_t i = given_; i < started_; ++i) {
    Send(waiting_[i], nullptr, nullptr);
    pthread_join(waiting_[i].thread, nullptr);
  }
  // A pool that was made has heard from each of its threads, so none is at these any more.
  pthread_cond_destroy(&sent_);
  pthread_mutex_destroy(&mutex_);
}

int PoolThreads::Start(size_t count) {
  for (; started_ < count; ++started_) {
    if (started_ == kMost) return EAGAIN;
    Waiting& waiting = waiting_[started_];
    waiting.owner = this;
    const int error = pthread_create(&waiting.thread, nullptr, &Wait, &waiting);
    if (error != 0) return error;
  }
  return 0;
}

int PoolThreads::Give(pthread_t* thread, void* (*run)(void*), void* argument) {
  if (given_ == started_) return EAGAIN;
  Waiting& waiting = waiting_[given_++];
  *thread = waiting.thread;
  Send(waiting, run, argument);
  return 0;
}

void PoolThreads::Send(Waiting& waiting, void* (*run)(void*), void* argument) {
  pthread_mutex_lock(&mutex_);
  waiting.sent = true;
  waiting.run = run;
  waiting.argument = argument;
  pthread_cond_broadcast(&sent_);
  pthread_mutex_unlock(&mutex_);
}

void* PoolThreads::Wait(void* self) {
  Waiting& waiting = *static_cast<Waiting*>(self);
  PoolThreads& owner = *waiting.owner;
  pthread_mutex_lock(&owner.mutex_);
  while (!waiting.sent) pthread_cond_wait(&owner.sent_, &owner.mutex_);
  void* (*const run)(void*) = waiting.run;
  void* const argument = waiting.argument;
  pthread_mutex_unlock(&owner.mutex_);
  return run == nullptr ? nullptr : run(argument);
}

}  // namespace skiff

/// The build gives pthread_create() this name inside of pthreadpool (platforms/cmake/dependencies.cmake). A
/// pool that somebody else makes creates its threads itself.
extern "C" int pthreadpool_thread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                         void* (*run)(void*), void* argument) {
  if (skiff::ahead == nullptr) return pthread_create(thread, attributes, run, argument);
  return skiff::ahead->Give(thread, run, argument);
}
