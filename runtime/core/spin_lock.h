/// A lock for what is made once and then read.
#pragma once

#include <atomic>

namespace skiff {

/// Needs neither exceptions nor a system call where nobody waits.
class SpinLock {
 public:
  void lock() {
    while (held_.test_and_set(std::memory_order_acquire)) held_.wait(true, std::memory_order_relaxed);
  }
  void unlock() {
    held_.clear(std::memory_order_release);
    held_.notify_one();
  }

 private:
  std::atomic_flag held_ = ATOMIC_FLAG_INIT;
};

}  // namespace skiff
