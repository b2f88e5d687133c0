#include "run/bench.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/platform.h"

namespace skiff {
namespace {

constexpr size_t kTracedRuns = 5;

double RunOnce(Session& session) {
  const uint64_t begin = platform::NowNanoseconds();
  Must([&] { return session.Run(); });
  return static_cast<double>(platform::NowNanoseconds() - begin);
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Clock reads between nodes cost time, so that these runs are apart from those that are reported as a whole.
void ProfileNodes(Model& model, const NamedTensors& inputs, const BenchOptions& options,
                  BenchResult& result) {
  SessionOptions session_options = options.session;
  session_options.profile = true;
  const std::unique_ptr<Session> session = CreateSession(model, session_options);
  SetInputs(*session, inputs);
  for (int i = 0; i < options.warmup; ++i) RunOnce(*session);
  const auto count = static_cast<size_t>(session->node_count());
  std::vector<std::vector<double>> times(count);
  std::vector<double> runs;
  uint64_t origin = 0;
  for (int run = 0; run < options.runs; ++run) {
    TracedRun traced;
    traced.begin_ns = platform::NowNanoseconds();
    if (run == 0) origin = traced.begin_ns;
    runs.push_back(RunOnce(*session));
    traced.end_ns = platform::NowNanoseconds() - origin;
    traced.begin_ns -= origin;
    for (size_t i = 0; i < count; ++i) {
      const NodeInfo info = session->node(static_cast<int>(i));
      times[i].push_back(static_cast<double>(info.last_ns));
      traced.nodes.emplace_back(traced.begin_ns + info.last_begin_ns, info.last_ns);
    }
    if (result.traced.size() == kTracedRuns) result.traced.erase(result.traced.begin());
    result.traced.push_back(std::move(traced));
  }
  result.profiled_run_ns = MedianOf(runs);
  for (size_t i = 0; i < count; ++i) {
    result.nodes.push_back({session->node(static_cast<int>(i)), MedianOf(times[i])});
  }
}

/// A Session that keeps one shape only meets each change as a new shape.
void MeasureShapeChanges(Model& model, const NamedTensors& inputs, const BenchOptions& options,
                         BenchResult& result) {
  SessionOptions session_options = options.session;
  session_options.kept_shapes = 1;
  const std::unique_ptr<Session> session = CreateSession(model, session_options);
  std::vector<double> changed;
  std::vector<double> unchanged;
  for (int i = 0; i < std::max(options.warmup, 1) + options.runs; ++i) {
    SetInputs(*session, options.other_inputs);
    RunOnce(*session);
    SetInputs(*session, inputs);
    changed.push_back(RunOnce(*session));
    unchanged.push_back(RunOnce(*session));
  }
  const auto warm = std::max(options.warmup, 1);
  result.changed_run_ns = MedianOf({changed.begin() + warm, changed.end()});
  result.unchanged_run_ns = MedianOf({unchanged.begin() + warm, unchanged.end()});
}

}  // namespace

double BenchResult::Quantile(double share) const {
  const auto last = static_cast<double>(runs_ns.size() - 1);
  return runs_ns[static_cast<size_t>(std::ceil(share * last))];
}

double BenchResult::NodesTime() const {
  return std::accumulate(nodes.begin(), nodes.end(), 0.0, [](double sum, const NodeProfile& node) {
    return sum + (node.info.shape_program ? 0 : node.median_ns);
  });
}

double BenchResult::BetweenNodes() const { return std::max(profiled_run_ns - NodesTime(), 0.0); }

BenchResult Bench(Model& model, const NamedTensors& inputs, const BenchOptions& options) {
  BenchResult result;
  const auto progress = [&](const char* step) {
    if (options.progress) options.progress(step);
  };
  {
    progress("first run");
    const uint64_t begin = platform::NowNanoseconds();
    const std::unique_ptr<Session> session = CreateSession(model, options.session);
    result.create_ns = static_cast<double>(platform::NowNanoseconds() - begin);
    SetInputs(*session, inputs);
    result.first_run_ns = RunOnce(*session);
    progress("timed runs");
    for (int i = 0; i < options.warmup; ++i) RunOnce(*session);
    const NoiseMeter meter;
    for (int i = 0; i < options.runs; ++i) result.runs_ns.push_back(RunOnce(*session));
    result.noise = meter.Read();
    std::sort(result.runs_ns.begin(), result.runs_ns.end());
    result.memory = session->memory_usage();
    result.threads = session->threads();
    result.target = session->target();
    if (options.keep_outputs) result.outputs = Outputs(*session);
  }
  if (!options.other_inputs.empty()) {
    progress("changes of shape");
    MeasureShapeChanges(model, inputs, options, result);
  }
  progress("profiled runs");
  ProfileNodes(model, inputs, options, result);
  return result;
}

}  // namespace skiff
