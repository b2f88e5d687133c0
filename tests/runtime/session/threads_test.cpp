// Many Sessions share one Model; workers sleep while nothing runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "skiff/thread_pool.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// Runs a Session with each of the options on a thread of its own, all at the same time.
void ExpectRightSideBySide(Model& model, const std::vector<SessionOptions>& sessions) {
  const TensorData image = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 3);
  const TensorData expected = Evaluate(ParseGraph(kSmallNet), {{"image", image}}).at("scores");
  std::vector<double> worst(sessions.size(), 1e9);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < sessions.size(); ++t) {
    threads.emplace_back([&, t] {
      Result<std::unique_ptr<Session>> session = Session::Create(model, sessions[t]);
      if (!session.ok()) return;
      worst[t] = 0;
      for (int run = 0; run < 5; ++run) {
        worst[t] = std::max(
            worst[t], Compare(RunSession(**session, {{"image", image}}).at("scores"), expected).difference);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double difference : worst) EXPECT_LE(difference, 1e-5);
}

TEST(Threads, SessionsOfOneModelRunSideBySide) {
  OpenedModel opened(kSmallNet);
  std::vector<SessionOptions> sessions(4);
  for (size_t i = 0; i < sessions.size(); ++i) {
    sessions[i].threads = 1 + static_cast<int>(i % 2);
    sessions[i].thread_small_work = true;
  }
  ExpectRightSideBySide(*opened.model, sessions);
}

TEST(Threads, MoreThanAnyDeviceHasIsAMistake) {
  OpenedModel opened(kSmallNet);
  for (const int threads : {-1, kMaxThreads + 1, std::numeric_limits<int>::max()}) {
    SessionOptions options;
    options.threads = threads;
    const ErrorCapture said;
    EXPECT_EQ(Session::Create(*opened.model, options).status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(said.message(), ::testing::HasSubstr(std::to_string(threads) + " threads were asked for"));
  }
}

#ifdef SKIFF_WITH_XNNPACK
TEST(Threads, SessionsShareAPool) {
  OpenedModel opened(kSmallNet);
  for (const int threads : {1, 3}) {
    Result<std::unique_ptr<ThreadPool>> pool = CreateThreadPool(threads);
    ASSERT_TRUE(pool.ok());
    SessionOptions shared;
    shared.thread_pool = pool->get();
    shared.thread_small_work = true;
    ExpectRightSideBySide(*opened.model, std::vector<SessionOptions>(4, shared));
  }
  EXPECT_EQ(CreateThreadPool(kMaxThreads + 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateThreadPool(-1).status().code(), StatusCode::kInvalidArgument);
}

/// By their numbers. Those of one that has ended may stay for a moment.
std::set<std::string> ThreadsOfTheProcess() {
  std::set<std::string> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(entry.path().filename());
  return threads;
}

size_t StartedSince(const std::set<std::string>& before) {
  size_t started = 0;
  for (const std::string& thread : ThreadsOfTheProcess()) started += before.count(thread) == 0;
  return started;
}

TEST(Threads, APoolIsAllThatItsSessionsStart) {
  OpenedModel opened(kSmallNet);
  const auto before = ThreadsOfTheProcess();
  Result<std::unique_ptr<ThreadPool>> pool = CreateThreadPool(3);
  ASSERT_TRUE(pool.ok());
  SessionOptions options;
  options.threads = 4;
  options.thread_pool = pool->get();
  const auto first = Session::Create(*opened.model, options);
  const auto second = Session::Create(*opened.model, options);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(StartedSince(before), 2u);
  options.thread_pool = nullptr;
  const auto third = Session::Create(*opened.model, options);
  EXPECT_EQ(StartedSince(before), 5u);
}
#endif

TEST(Threads, ARunIsCancelledFromAnotherThread) {
  OpenedModel opened(kSmallNet);
  SessionOptions options;
  options.backend = Backend::kReference;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData image = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 3);
  ASSERT_TRUE((*session)->SetInput(0, image.view()).ok());
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) (*session)->Cancel();
  });
  Status status;
  for (int i = 0; i < 100000 && status.ok(); ++i) status = (*session)->Run();
  done = true;
  canceller.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_TRUE((*session)->Run().ok());
}

TEST(Threads, OneSessionRunsOnceAtATime) {
  OpenedModel opened(kSmallNet);
  SessionOptions options;
  options.backend = Backend::kReference;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData image = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 3);
  ASSERT_TRUE((*session)->SetInput(0, image.view()).ok());
  std::atomic<bool> met{false};
  const auto run = [&] {
    const ErrorCapture said;
    Status status;
    for (int i = 0; i < 100000 && status.ok() && !met; ++i) status = (*session)->Run();
    if (status.ok()) return;
    met = true;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(said.message(), ::testing::HasSubstr("another thread is running this session"));
  };
  std::thread other(run);
  run();
  other.join();
  EXPECT_TRUE(met);
  EXPECT_TRUE((*session)->Run().ok());
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Threads, WorkersSleepWhileIdle) {
  OpenedModel opened(kSmallNet);
  SessionOptions options;
  options.threads = 4;
  options.thread_small_work = true;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData image = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 3);
  RunSession(**session, {{"image", image}});
  const double before = CpuSeconds();
  usleep(500000);
  // Three spinning workers would burn over a second here; sleeping ones nothing.
  EXPECT_LT(CpuSeconds() - before, 0.02);
}

}  // namespace
}  // namespace skiff::testing
