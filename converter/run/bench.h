/// Measures a model: whole runs without profiling, then single nodes with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/noise.h"
#include "run/opened_model.h"

namespace skiff {

struct BenchOptions {
  SessionOptions session;
  int runs = 50;
  int warmup = 5;
  /// Inputs of another shape, to measure a change of shape with; empty: it is not measured.
  NamedTensors other_inputs = {};
  bool keep_outputs = false;  ///< Those of the last timed run.
  /// Told when a part begins; may be empty.
  std::function<void(const std::string& step)> progress = {};
};

/// One node, times over all profiled runs.
struct NodeProfile {
  NodeInfo info;  ///< Names point into the model.
  double median_ns = 0;
};

/// When the nodes of one profiled run ran, in nanoseconds since the first profiled run began.
struct TracedRun {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  std::vector<std::pair<uint64_t, uint64_t>> nodes;  ///< Begin and duration, by node index.
};

struct BenchResult {
  double create_ns = 0;  ///< Session creation: operators made, weights packed.
  double first_run_ns = 0;
  double changed_run_ns = 0;    ///< Median of first runs after a change of shape; 0: not measured.
  double unchanged_run_ns = 0;  ///< Median of the runs right behind them, which have the same shape.
  std::vector<double> runs_ns;  ///< Sorted.
  Noise noise;                  ///< While these ran.
  std::vector<NodeProfile> nodes;
  double profiled_run_ns = 0;     ///< Median of the runs that the nodes' times are from.
  std::vector<TracedRun> traced;  ///< The last few profiled runs.
  MemoryUsage memory;
  NamedTensors outputs;
  int threads = 0;
  Target target = Target::kCpu;  ///< What ran.

  /// The run time that `share` (0..1) of the runs did not pass.
  double Quantile(double share) const;
  /// From the tenth to the ninetieth percentile, as a share of the median.
  double Spread() const { return (Quantile(0.9) - Quantile(0.1)) / std::max(Quantile(0.5), 1.0); }
  /// The nodes' medians together, without those of the shape program.
  double NodesTime() const;
  /// What a profiled run does beside its nodes: reading the clock, waking threads, copying to a device.
  double BetweenNodes() const;
};

/// Throws Error.
BenchResult Bench(Model& model, const NamedTensors& inputs, const BenchOptions& options);

}  // namespace skiff
