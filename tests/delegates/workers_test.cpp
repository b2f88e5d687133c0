// Workers that come late, or not at all.
#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "delegates/xnnpack/thread_pool.h"

namespace skiff::testing {
namespace {

constexpr size_t kItems = 64;
constexpr int kAttempts = 200;
constexpr int kPolls = 50;
constexpr useconds_t kMillisecond = 1000;

/// A call whose items take next to nothing on the calling thread, and `delay` on the worker.
struct Call {
  std::thread::id caller = std::this_thread::get_id();
  useconds_t delay = 0;
  std::atomic<size_t> done{0};
  std::atomic<size_t> by_worker{0};

  static void Item(void* context, size_t) {
    auto& call = *static_cast<Call*>(context);
    const bool first = call.done++ == 0;
    if (std::this_thread::get_id() == call.caller) {
      // So that the worker, if it is called at all, finds something to do.
      for (int i = 0; first && i < kPolls && call.by_worker == 0; ++i) usleep(10);
      return;
    }
    ++call.by_worker;
    usleep(call.delay);
  }
};

class Workers : public ::testing::Test {
 protected:
  size_t TakenByWorker(useconds_t delay) {
    Call call;
    call.delay = delay;
    pthreadpool_parallelize_1d(pool_->get(), Call::Item, &call, kItems, 0);
    EXPECT_EQ(call.done, kItems);
    return call.by_worker;
  }

  std::unique_ptr<xnnpack::Pool> pool_ = std::move(xnnpack::CreatePool(2).value());
};

TEST_F(Workers, AreLeftAloneForAWhileAfterOneWasLate) {
  // A machine that is busy itself may stop this thread for longer than the while takes: then it tries again.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (TakenByWorker(10 * kMillisecond) == 0) continue;
    size_t taken = 0;
    for (int i = 0; i < 10; ++i) taken += TakenByWorker(0);
    if (taken == 0) return;
  }
  FAIL() << "after each late worker, the next calls gave it work at once";
}

TEST_F(Workers, GetWorkAgainLater) {
  for (int attempt = 0; attempt < kAttempts && TakenByWorker(10 * kMillisecond) == 0; ++attempt)
    usleep(kMillisecond);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    usleep(50 * kMillisecond);
    if (TakenByWorker(kMillisecond / 20) > 0) return;
  }
  FAIL() << "a worker that was late once never got work again";
}

}  // namespace
}  // namespace skiff::testing
