// The same function eagerly and as a graph. Eager mode computes with the reference kernels, which are there
// to be right and not to be fast: the ratio says what a trace is worth, not how good the graph is
// (tests/bench/compare_tensorflow.py says that).
#include <cstdio>

#include "samples/eager_and_graph/examples.h"
#include "samples/eager_and_graph/timing.h"
#include "samples/eager_and_graph/workloads.h"
#include "trace/function.h"

namespace sample {
namespace {

using skiff::eager::Function;

struct Workload {
  const char* name;
  std::function<Tensor(const Tensor&)> code;
  Tensor input;
  int rounds;
  int graph_calls;  ///< In a row, per round: a clock does not see a single short one.
};

void Measure(const Workload& workload, bool quick) {
  const Function<Tensor(const Tensor&)> function(workload.code, {.threads = 1});
  const Tensor expected = workload.code(workload.input);
  double first = 0;
  Tensor got;
  first = TimeOnce([&] { got = function(workload.input); });
  const bool same = got.dtype() == skiff::DType::kF32
                        ? Near(got, expected)
                        : got.ToVector<int32_t>() == expected.ToVector<int32_t>();
  Expect(same && function.trace_count() == 1, workload.name);
  const int calls = quick ? 1 : workload.graph_calls;
  const auto times = TimeInTurns({[&] { workload.code(workload.input); },
                                  [&] {
                                    for (int i = 0; i < calls; ++i) function(workload.input);
                                  }},
                                 quick ? 1 : workload.rounds);
  const double eager = Quantile(times[0], 0.5), graph = Quantile(times[1], 0.5) / calls;
  std::printf("  %-36s %12.1f %12.2f %9.1f %12.1f\n", workload.name, eager, graph, eager / graph,
              first / 1e3);
}

}  // namespace

void ModeSpeed(const Options& options) {
  const DenseNet shallow(28 * 28, {10, 20, 30}), deep(28 * 28, {1000, 2000, 3000});
  const PictureNet pictures;
  const RowsNet rows;
  const Tensor digits = Uniform({60, 28, 28}, 3);
  std::printf("Speed by mode (one thread, medians; the CNN has %.1f million parameters)\n",
              pictures.parameters() * 1e-6);
  std::printf("  %-36s %12s %12s %9s %12s\n", "", "eager [us]", "graph [us]", "ratio", "1st call [ms]");
  for (const Workload& workload : std::initializer_list<Workload>{
           {"power of 100, While", PowerByLoop, PowerBase(), 100, 20},
           {"power of 100, unrolled", PowerUnrolled, PowerBase(), 100, 20},
           {"dense 10, 20, 30 on [60, 28, 28]", shallow, digits, 100, 20},
           {"dense 1000, 2000, 3000", deep, digits, 5, 1},
           {"CNN with preprocessing, 300x400", pictures, NoisePicture(300, 400), 5, 1},
           {"rows [7, 20], dense 64, 64, 10", rows, Uniform({7, 20}, 5), 200, 50},
       })
    Measure(workload, options.quick);
}

}  // namespace sample
