// Many threads, few models: each opens, creates, runs at changing shapes, cancels what others run, and
// closes; the numbers are, bit by bit, those of runs one after the other, and memory does not grow. Random
// graphs with open dimensions; SKIFF_FUZZ_COUNT=N: N runs of each thread.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "skiff/delegates.h"
#include "skiff/thread_pool.h"
#include "tests/fuzz/open_shapes_check.h"

namespace skiff::testing {
namespace {

constexpr int kThreads = 8;
constexpr uint32_t kModels = 100;
constexpr size_t kSessionsOfThread = 4;
constexpr std::array kBackends = {Backend::kReference, Backend::kPlanned};

int RunsOfThread() {
  const char* count = std::getenv("SKIFF_FUZZ_COUNT");
  return count == nullptr ? 300 : std::atoi(count);
}

int64_t ResidentBytes() {
  std::ifstream stream("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  stream >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

SessionOptions OneThread(Backend backend) {
  SessionOptions options;
  options.backend = backend;
  options.threads = 1;
  return options;
}

/// A graph, its file, and what it computes when nothing else runs.
class Subject {
 public:
  explicit Subject(uint32_t seed)
      : random_(seed),
        converted_(ConvertGraph(random_.graph(), {})),
        opened_(*converted_, BuiltinDelegates()) {
    for (const Backend backend : kBackends) {
      const auto session = MustCreate(*opened_.model, OneThread(backend));
      for (size_t at = 0; at < RandomOpenGraph::kSizes; ++at)
        serial_[static_cast<size_t>(backend)][at] = RunSession(*session, random_.inputs(at));
    }
  }
  Model& model() const { return *opened_.model; }
  OpenedPlans OpenAgain() const { return OpenedPlans(*converted_, BuiltinDelegates()); }
  const Tensors& inputs(size_t at) const { return random_.inputs(at); }
  bool IsSerial(Backend backend, size_t at, const Tensors& got) const {
    const Tensors& expected = serial_[static_cast<size_t>(backend)][at];
    return std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                      [](const auto& a, const auto& b) {
                        return a.first == b.first && a.second.dtype() == b.second.dtype() &&
                               a.second.shape() == b.second.shape() &&
                               std::memcmp(a.second.data(), b.second.data(), a.second.size_bytes()) == 0;
                      });
  }

 private:
  RandomOpenGraph random_;
  std::unique_ptr<ConvertResult> converted_;
  OpenedPlans opened_;
  std::array<std::array<Tensors, RandomOpenGraph::kSizes>, std::size(kBackends)> serial_;
};

/// What a thread runs, for others to cancel.
struct Published {
  std::mutex mutex;
  Session* session = nullptr;
};

struct Counts {
  std::atomic<int> right{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> created{0};
  std::atomic<int> opened{0};
};

class Worker {
 public:
  Worker(uint32_t number, const std::vector<std::unique_ptr<Subject>>& subjects, ThreadPool& pool,
         std::array<Published, kThreads>& published, Counts& counts)
      : random_(number),
        subjects_(subjects),
        pool_(pool),
        published_(published),
        own_(published[number]),
        counts_(counts) {}

  /// Throws Error where something is not as it is when nothing else runs.
  void Run(int runs) {
    for (int run = 0; run < runs; ++run) {
      Slot& slot = slots_[random_() % slots_.size()];
      if (!slot.session || OneIn(40)) Renew(slot);
      if (OneIn(10)) CancelAny();
      RunOnce(slot);
    }
  }

 private:
  struct Slot {
    const Subject* subject = nullptr;
    Backend backend = Backend::kReference;
    std::optional<OpenedPlans> own_model;
    std::unique_ptr<Session> session;
  };

  bool OneIn(uint32_t n) { return random_() % n == 0; }

  void Renew(Slot& slot) {
    slot.session.reset();
    slot.own_model.reset();
    slot.subject = subjects_[random_() % subjects_.size()].get();
    slot.backend = kBackends[random_() % kBackends.size()];
    if (OneIn(4)) {
      slot.own_model.emplace(slot.subject->OpenAgain());
      ++counts_.opened;
    }
    SessionOptions options = OneThread(slot.backend);
    options.kept_shapes = 1 + static_cast<int>(random_() % 3);
    options.thread_small_work = true;
    if (OneIn(3)) options.thread_pool = &pool_;
    if (OneIn(8)) options.threads = 2;
    slot.session = MustCreate(slot.own_model ? *slot.own_model->model : slot.subject->model(), options);
    ++counts_.created;
  }

  void CancelAny() {
    Published& other = published_[random_() % published_.size()];
    const std::lock_guard lock(other.mutex);
    if (other.session != nullptr) other.session->Cancel();
  }

  void Publish(Session* session) {
    const std::lock_guard lock(own_.mutex);
    own_.session = session;
  }

  void RunOnce(Slot& slot) {
    const size_t at = random_() % RandomOpenGraph::kSizes;
    Publish(slot.session.get());
    try {
      const Tensors got = RunSession(*slot.session, slot.subject->inputs(at));
      Publish(nullptr);
      if (!slot.subject->IsSerial(slot.backend, at, got))
        Throw(StatusCode::kInternal, "the numbers are not those of a run alone");
      ++counts_.right;
    } catch (const Error& error) {
      Publish(nullptr);
      if (error.code() != StatusCode::kCancelled) throw;
      ++counts_.cancelled;
    }
  }

  std::mt19937 random_;
  const std::vector<std::unique_ptr<Subject>>& subjects_;
  ThreadPool& pool_;
  std::array<Published, kThreads>& published_;
  Published& own_;
  Counts& counts_;
  std::array<Slot, kSessionsOfThread> slots_;
};

/// All threads at once, each with runs of its own; what the first of them threw.
std::string RunAll(const std::vector<std::unique_ptr<Subject>>& subjects, int runs, Counts& counts) {
  const std::unique_ptr<ThreadPool> pool = std::move(CreateThreadPool(3).value());
  std::array<Published, kThreads> published;
  std::array<std::string, kThreads> errors;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        Worker(i, subjects, *pool, published, counts).Run(runs);
      } catch (const Error& error) {
        errors[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto failed =
      std::find_if(errors.begin(), errors.end(), [](const auto& text) { return !text.empty(); });
  return failed == errors.end() ? "" : *failed;
}

TEST(ThreadsFuzz, ComputeWhatOneThreadComputesInTheSameMemory) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (uint32_t seed = 0; seed < kModels; ++seed) subjects.push_back(std::make_unique<Subject>(seed));
  const int runs = RunsOfThread();
  Counts counts;
  // Allocators keep some memory for each thread that there was.
  ASSERT_EQ(RunAll(subjects, runs / 4, counts), "");
  const int64_t before = ResidentBytes();
  ASSERT_EQ(RunAll(subjects, runs, counts), "");
  const int64_t grown = ResidentBytes() - before;
  std::printf(
      "%d models, %d runs were right, %d cancelled, in %d Sessions of %d opened models; %.1f MiB more in the "
      "end\n",
      static_cast<int>(kModels), counts.right.load(), counts.cancelled.load(), counts.created.load(),
      counts.opened.load(), static_cast<double>(grown) / (1 << 20));
  EXPECT_EQ(counts.right + counts.cancelled, kThreads * (runs + runs / 4));
  EXPECT_GT(counts.right, counts.cancelled);
#ifndef SKIFF_WITH_SANITIZER  // Which keeps what was freed.
  EXPECT_LT(grown, int64_t{16} << 20);
#endif
}

}  // namespace
}  // namespace skiff::testing
