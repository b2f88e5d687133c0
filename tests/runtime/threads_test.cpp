// Many Sessions share one Model; workers sleep while nothing runs.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

TEST(Threads, SessionsOfOneModelRunSideBySide) {
  OpenedModel opened(kSmallNet);
  const TensorData image = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 3);
  const TensorData expected = Evaluate(ParseGraph(kSmallNet), {{"image", image}}).at("scores");
  std::vector<double> worst(4, 1e9);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < worst.size(); ++t) {
    threads.emplace_back([&, t] {
      SessionOptions options;
      options.threads = 1 + static_cast<int>(t % 2);
      options.thread_small_work = true;
      Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
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
