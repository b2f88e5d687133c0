// Workers that come late, or not at all.
#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "delegates/xnnpack/thread_pool.h"

namespace skiff::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kItems = 64;
constexpr useconds_t kMillisecond = 1000;
constexpr auto kLongest = std::chrono::seconds(60);

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
      // So that the worker, if it is called at all, finds something to do; and not here, where it would be in
      // the way.
      const auto end = Clock::now() + std::chrono::milliseconds(1);
      while (first && call.by_worker == 0 && Clock::now() < end) continue;
      return;
    }
    ++call.by_worker;
    usleep(call.delay);
  }
};

class Workers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: no worker ever helps";
  }
  void Renew() { pool_ = std::move(xnnpack::CreatePool(2).value()); }
  size_t TakenByWorker(useconds_t delay) {
    Call call;
    call.delay = delay;
    pthreadpool_parallelize_1d(pool_->get(), Call::Item, &call, kItems, 0);
    EXPECT_EQ(call.done, kItems);
    return call.by_worker;
  }

  std::unique_ptr<xnnpack::Pool> pool_ = std::move(xnnpack::CreatePool(2).value());
};

// A machine that is busy itself may stop these threads for longer than a while takes: then they try again,
// with a pool that knows nothing of it.

TEST_F(Workers, AreLeftAloneForAWhileAfterOneWasLate) {
  for (const auto end = Clock::now() + kLongest; Clock::now() < end; Renew()) {
    if (TakenByWorker(10 * kMillisecond) == 0) continue;
    size_t taken = 0;
    for (int i = 0; i < 10; ++i) taken += TakenByWorker(0);
    if (taken == 0) return;
  }
  FAIL() << "after each late worker, the next calls gave it work at once";
}

TEST_F(Workers, GetWorkAgainLater) {
  for (const auto end = Clock::now() + kLongest; Clock::now() < end; Renew()) {
    if (TakenByWorker(10 * kMillisecond) == 0) continue;
    usleep(50 * kMillisecond);
    if (TakenByWorker(kMillisecond / 20) > 0) return;
  }
  FAIL() << "a worker that was late once never got work again";
}

/// Whoever works alone has all items, in their order.
TEST_F(Workers, AreInTheWayOnTheCallersCore) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const auto pool = std::move(xnnpack::CreatePool(2).value());  // Whose worker may run there only.
  struct Order {
    std::vector<size_t> items;
    size_t taken = 0;
    std::thread::id caller = std::this_thread::get_id();
  } order;
  int in_order = 0;
  for (int i = 0; i < 100; ++i) {
    order.items.clear();
    pthreadpool_parallelize_1d(
        pool->get(),
        [](void* context, size_t item) {
          auto& seen = *static_cast<Order*>(context);
          if (std::this_thread::get_id() != seen.caller)
            ++seen.taken;
          else
            seen.items.push_back(item);
          usleep(100);  // So that the worker comes, if it is called.
        },
        &order, 8, 0);
    in_order += std::is_sorted(order.items.begin(), order.items.end()) ? 1 : 0;
  }
  EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(order.taken, 0u);
  EXPECT_EQ(order.items.size(), 8u);
  EXPECT_GT(in_order, 50) << "now and then it calls the worker, to see";
}

/// A child has the pool, and none of its workers to wait for.
TEST_F(Workers, AreNotThoseOfAForkedChild) {
  TakenByWorker(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<size_t> done{0};
    pthreadpool_parallelize_1d(
        pool_->get(), [](void* count, size_t) { ++*static_cast<std::atomic<size_t>*>(count); }, &done, kItems,
        0);
    pool_.reset();
    _exit(done == kItems ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace skiff::testing
