#include "tests/bench/shape_calls.h"

#include <malloc.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "graph/error.h"
#include "run/random_inputs.h"

namespace skiff::bench {
namespace {

constexpr size_t kFewestSizes = 4;

std::vector<int64_t> DrawSizes(const Model& model, std::mt19937& random, int64_t most) {
  std::vector<int64_t> sizes;
  for (const SymbolInfo& symbol : model.symbols()) {
    const bool bounded = symbol.max != SymbolInfo::kUnbounded;
    const int64_t max = bounded ? symbol.max : std::max(symbol.min, most);
    const int64_t low = (std::max<int64_t>(symbol.min, 1) + symbol.multiple - 1) / symbol.multiple;
    const int64_t high = std::max(low, max / symbol.multiple);
    sizes.push_back(std::uniform_int_distribution<int64_t>(low, high)(random) * symbol.multiple);
  }
  return sizes;
}

/// A line of /proc/self/status in bytes.
uint64_t StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, name.size() + 1, name + ":") == 0)
      return std::stoull(line.substr(name.size() + 1)) << 10;
  }
  Throw(StatusCode::kIo, "/proc/self/status has no line {}", name);
}

}  // namespace

std::vector<SizedCall> DrawCalls(const Model& model, size_t count, int64_t most) {
  std::mt19937 random(1);
  std::vector<SizedCall> calls;
  for (size_t tries = 0; calls.size() < count && tries < 20 * count; ++tries) {
    std::vector<int64_t> sizes = DrawSizes(model, random, most);
    const auto is_same = [&](const SizedCall& call) { return call.sizes == sizes; };
    if (std::any_of(calls.begin(), calls.end(), is_same)) continue;
    NamedTensors inputs = RandomInputs(model, sizes, 1);
    calls.push_back({std::move(sizes), std::move(inputs)});
  }
  if (calls.size() < kFewestSizes)
    Throw(StatusCode::kInvalidArgument,
          "the contract allows too few sizes: {} of at least {}; widen it with --dim", calls.size(),
          kFewestSizes);
  return calls;
}

uint64_t ThreadNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

Way::Way(std::string name, const std::vector<uint8_t>& file, int kept, Clock clock)
    : name_(std::move(name)), opened_(file), anew_(kept == 0), clock_(clock) {
  options_.threads = 1;
  options_.kept_shapes = std::max(kept, 1);
  if (!anew_) session_ = CreateSession(opened_.model(), options_);
}

void Way::Call(const SizedCall& call, CallKind kind) {
  const uint64_t begin = clock_();
  if (anew_) session_ = CreateSession(opened_.model(), options_);
  SetInputs(*session_, call.inputs);
  Must([&] { return session_->Run(); });
  times_[static_cast<size_t>(kind)].push_back(static_cast<double>(clock_() - begin) * 1e-3);
}

void Way::Forget() {
  for (std::vector<double>& times : times_) times.clear();
}

void RunRound(size_t round, const std::vector<SizedCall>& calls, const std::vector<Way*>& ways) {
  const SizedCall& now = calls[round % calls.size()];
  const SizedCall& before = calls[(round + calls.size() - 1) % calls.size()];
  for (const CallKind kind : kRound) {
    for (size_t i = 0; i < ways.size(); ++i) {
      // Who follows whom changes from round to round.
      Way& way = *ways[(i + round) % ways.size()];
      way.Call(kind == CallKind::kBefore ? before : now, kind);
    }
  }
}

uint64_t PeakBytes(const std::vector<uint8_t>& file, int kept, const std::vector<SizedCall>& calls,
                   size_t rounds) {
  int ends[2];
  if (pipe(ends) != 0) Throw(StatusCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  malloc_trim(0);  // What the conversion left free would hide what the calls take.
  const pid_t child = fork();
  if (child < 0) Throw(StatusCode::kIo, "cannot fork: {}", std::strerror(errno));
  if (child == 0) {
    uint64_t grown = 0;
    try {
      std::ofstream("/proc/self/clear_refs") << "5";  // The peak begins anew.
      const uint64_t before = StatusBytes("VmRSS");
      Way way("", file, kept, ThreadNanoseconds);
      for (size_t round = 0; round < rounds; ++round) RunRound(round, calls, {&way});
      grown = StatusBytes("VmHWM") - before;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    const bool told = write(ends[1], &grown, sizeof(grown)) == sizeof(grown);
    _exit(told && grown > 0 ? 0 : 1);
  }
  close(ends[1]);
  uint64_t grown = 0;
  const bool told = read(ends[0], &grown, sizeof(grown)) == sizeof(grown);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!told || status != 0) Throw(StatusCode::kInternal, "the process that measures memory failed");
  return grown;
}

}  // namespace skiff::bench
