// What a Session costs beside the XNNPACK operators that it runs. README.md explains the figures.
#include <pthreadpool.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/session_options.h"
#include "delegates/xnnpack/thread_pool.h"
#include "graph/error.h"
#include "tests/bench/bare_net.h"
#include "tests/bench/measure.h"
#include "tests/bench/subject.h"
#include "tests/bench/tiny_net.h"

/// A symbol that instructions.py can name: callgrind counts only inside of it.
extern "C" [[gnu::noinline]] void skiff_bench_counted_runs(skiff::Session& session, int runs) {
  for (int i = 0; i < runs; ++i) skiff::Must([&] { return session.Run(); });
}

namespace skiff::bench {
namespace {

struct Arguments {
  std::string model;
  cli::ConvertArguments convert;
  int threads = 1;
  int pairs = 60;
  int blocks = 6;
  int instructions = 0;
  bool tiny = false;
  double limit = 0;
};

constexpr int kWarmup = 5;
constexpr int kTinyNodes = 200;
/// A pass through the tiny net takes microseconds; this many make a sample that the clock resolves.
constexpr int kTinyRepeats = 200;

/// Both sides share it, so that no side's idle threads disturb the other. Null for one thread.
std::unique_ptr<xnnpack::Pool> NewPool(int threads) {
  if (threads <= 1) return nullptr;
  return Must([&] { return xnnpack::CreatePool(threads); });
}
pthreadpool_t HandleOf(const xnnpack::Pool* pool) { return pool == nullptr ? nullptr : pool->get(); }

/// The bare net leaves the pool's threads spinning, which the Session does not.
void LetSleep(pthreadpool_t pool) {
  if (pool == nullptr) return;
  pthreadpool_parallelize_1d(
      pool, [](void*, size_t) {}, nullptr, pthreadpool_get_threads_count(pool),
      PTHREADPOOL_FLAG_YIELD_WORKERS);
}

/// The largest difference of any output, relative to that output's largest value.
double DifferenceOf(const NamedTensors& got, const NamedTensors& expected) {
  double worst = 0;
  for (const auto& [name, tensor] : expected) {
    const std::vector<double> a = got.at(name).ToDoubles();
    const std::vector<double> b = tensor.ToDoubles();
    double difference = 0;
    double largest = 0;
    for (size_t i = 0; i < b.size(); ++i) {
      if (std::isnan(a[i]) || std::isnan(b[i])) return INFINITY;
      difference = std::max(difference, std::abs(a[i] - b[i]));
      largest = std::max(largest, std::abs(b[i]));
    }
    worst = std::max(worst, difference / std::max(largest, 1e-30));
  }
  return worst;
}

/// Two ways through one plan over the same memory, freshly made.
struct Contest {
  Contest(Subject& subject, xnnpack::Pool* pool)
      : subject(subject),
        session(subject.NewSession(pool)),
        arena(ArenaOf(*session, subject.plan())),
        bare(subject.plan(), arena, HandleOf(pool)) {}

  void RunSession() {
    Must([&] { return session->Run(); });
  }

  /// The arena is filled with NaN in between, so that nothing that the Session left can pass for a result.
  double Difference() {
    RunSession();
    const NamedTensors expected = Outputs(*session);
    std::memset(arena, 0xff, subject.plan().arena_bytes);
    SetInputs(*session, subject.inputs());
    bare.Run();
    return DifferenceOf(Outputs(*session), expected);
  }

  Subject& subject;
  std::unique_ptr<Session> session;
  unsigned char* arena;
  BareNet bare;
};

/// Where memory happens to lie moves times by percents; a fresh pair of contestants per block averages over
/// that.
Pairs Measure(Subject& subject, const Arguments& arguments, int repeats, xnnpack::Pool* pool) {
  constexpr double kTolerance = 1e-5;
  Pairs times;
  const int per_block = (arguments.pairs + arguments.blocks - 1) / arguments.blocks;
  for (int block = 0; block < arguments.blocks; ++block) {
    Contest contest(subject, pool);
    const double difference = contest.Difference();
    if (!(difference <= kTolerance)) {
      Throw(StatusCode::kInternal,
            "the Session and the bare operators differ by {:.2e} of the largest output", difference);
    }
    if (block == 0) {
      fmt::print("plan: {} nodes, {} bare XNNPACK operators, largest difference {:.1e}\n",
                 subject.plan().nodes.size(), contest.bare.operators(), difference);
      for (const std::string& line : contest.bare.Substitutions()) fmt::print("  {}\n", line);
    }
    MeasurePairs(
        per_block, kWarmup,
        [&] {
          for (int i = 0; i < repeats; ++i) contest.RunSession();
        },
        [&] {
          for (int i = 0; i < repeats; ++i) contest.bare.Run();
        },
        [&] { LetSleep(HandleOf(pool)); }, times);
  }
  return times;
}

/// Exit code 3 when a figure is above the limit that was given.
int Judge(double figure, double limit) {
  if (limit <= 0) return 0;
  fmt::print("limit {}: {}\n", limit, figure <= limit ? "kept" : "NOT KEPT");
  return figure <= limit ? 0 : 3;
}

int CompareModel(const Arguments& arguments) {
  const auto converted = ConvertFile(arguments.model, cli::ToConvertOptions(arguments.convert));
  Subject subject(converted->file);
  if (arguments.instructions > 0) {
    const std::unique_ptr<Session> session = subject.NewSession(1);
    Must([&] { return session->Run(); });
    skiff_bench_counted_runs(*session, arguments.instructions);
    return 0;
  }
  const std::unique_ptr<xnnpack::Pool> pool = NewPool(arguments.threads);
  const Pairs times = Measure(subject, arguments, 1, pool.get());
  const Estimate ratio = RatioOf(times);
  fmt::print("{} pairs, {} thread(s)\n", times.a.size(), arguments.threads);
  fmt::print("Session {:9.3f} ms\nbare    {:9.3f} ms\n", Median(times.a) * 1e-6, Median(times.b) * 1e-6);
  fmt::print("Session / bare {:.4f}, 95 % interval [{:.4f}, {:.4f}]\n", ratio.median, ratio.low, ratio.high);
  return Judge(ratio.high, arguments.limit);
}

int CompareTiny(const Arguments& arguments) {
  const auto converted = ConvertGraph(TinyNet(kTinyNodes));
  Subject subject(converted->file);
  if (subject.plan().nodes.size() != kTinyNodes) {
    Throw(StatusCode::kInternal, "the passes left {} of the {} tiny nodes", subject.plan().nodes.size(),
          kTinyNodes);
  }
  const std::unique_ptr<xnnpack::Pool> pool = NewPool(arguments.threads);
  const Pairs times = Measure(subject, arguments, kTinyRepeats, pool.get());
  const Estimate session = MedianWithInterval(times.a);
  const Estimate bare = MedianWithInterval(times.b);
  const double per_node = 1.0 / (kTinyNodes * kTinyRepeats);
  fmt::print("{} samples of {} runs over {} nodes of 4 elements, {} thread(s)\n", times.a.size(),
             kTinyRepeats, kTinyNodes, arguments.threads);
  for (const auto& [name, estimate] : {std::pair("Session", session), std::pair("bare   ", bare)}) {
    fmt::print("{} {:6.1f} ns a node, 95 % interval [{:.1f}, {:.1f}]\n", name, estimate.median * per_node,
               estimate.low * per_node, estimate.high * per_node);
  }
  return Judge(session.high * per_node, arguments.limit);
}

int Run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Compares a Session with the same XNNPACK operators in a plain loop", "overhead_bench");
  app.add_option("model", arguments.model, "The model")->type_name("MODEL.onnx");
  cli::AddPlanOptions(app, arguments.convert);
  app.add_option("--threads", arguments.threads, "Threads of both sides (default 1)")
      ->check(CLI::Range(1, 64));
  app.add_option("--pairs", arguments.pairs, "Interleaved pairs (default 60)")->check(CLI::Range(1, 1000000));
  app.add_option("--blocks", arguments.blocks, "Fresh Sessions and operators to share them among (default 6)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--instructions", arguments.instructions,
                 "Only run the Session this often, for instructions.py")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--tiny", arguments.tiny, "Measure a net of tiny operators instead of a model");
  app.add_option(
      "--limit", arguments.limit,
      "Exit code 3 when the interval of the ratio (of the ns a node with --tiny) reaches beyond this");
  return RunProgram(argc, argv, app, [&] {
    if (arguments.tiny == !arguments.model.empty())
      Throw(StatusCode::kInvalidArgument, "expected either a model or --tiny");
    return arguments.tiny ? CompareTiny(arguments) : CompareModel(arguments);
  });
}

}  // namespace
}  // namespace skiff::bench

int main(int argc, char** argv) { return skiff::bench::Run(argc, argv); }
