/// Runs that end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "skiff/session.h"

namespace skiff::testing {

/// A damaged loop may never end. A GPU may have to compile its shaders first, beside other work of this
/// machine.
inline Status RunForAWhile(Session& session) {
  const std::chrono::milliseconds longest(session.target() == Target::kCpu ? 20 : 10000);
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::thread watch([&] {
    std::unique_lock<std::mutex> lock(mutex);
    // Run() takes back a cancellation that comes before it begins.
    while (!ended.wait_for(lock, longest, [&] { return over; })) session.Cancel();
  });
  const Status status = session.Run();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  ended.notify_one();
  watch.join();
  return status;
}

}  // namespace skiff::testing
