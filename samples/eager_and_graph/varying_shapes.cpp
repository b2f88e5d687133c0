// One function, inputs of ten sizes in random order, four ways to serve them.
#include <cstdio>
#include <random>

#include "samples/eager_and_graph/examples.h"
#include "samples/eager_and_graph/plot.h"
#include "samples/eager_and_graph/timing.h"
#include "samples/eager_and_graph/workloads.h"
#include "trace/function.h"

namespace sample {
namespace {

using skiff::DimRange;
using skiff::eager::Function;
using skiff::eager::FunctionOptions;
using RowsFunction = Function<Tensor(const Tensor&)>;

constexpr int kMostRows = 10;

struct Way {
  const char* name;
  RowsFunction function;
  uint64_t traces;  ///< That it must have needed in the end.
};

/// One thread: so little work is not worth waking others.
std::vector<Way> Ways(const RowsNet& net) {
  return {
      {"exact traces", RowsFunction(net, {.relax_shapes = false, .retrace_warning = 0, .threads = 1}),
       kMostRows},
      {"one input_signature, f32[x, 20]",
       RowsFunction(net, {.input_signature = {"f32[x, 20]"}, .threads = 1}), 1},
      {"relaxed shapes", RowsFunction(net, {.threads = 1}), 2},
      {"buckets 1..4 and 5..10",
       RowsFunction(net, {.input_signature = {"f32[x<=10, 20]"},
                          .buckets = {{{"x", DimRange(1, 4)}}, {{"x", DimRange(5, kMostRows)}}},
                          .threads = 1}),
       1},
  };
}

}  // namespace

void VaryingShapes(const Options& options) {
  const RowsNet net;
  Tensors inputs, expected;
  for (int rows = 1; rows <= kMostRows; ++rows) {
    inputs.push_back(Uniform({rows, 20}, static_cast<uint32_t>(rows)));
    expected.push_back(net(inputs.back()));
  }
  std::vector<Way> ways = Ways(net);
  std::vector<Series> all;
  for (const Way& way : ways) all.push_back({way.name, {}});
  std::mt19937 random(1);
  const int calls = options.quick ? 400 : 20000;
  const size_t warm = static_cast<size_t>(calls) / 20;
  for (int call = 0; call < calls; ++call) {
    const size_t size = random() % inputs.size();
    for (size_t i = 0; i < ways.size(); ++i) {
      const size_t way = (i + static_cast<size_t>(call)) % ways.size();  // None of them is always the first.
      Tensor got;
      all[way].microseconds.push_back(TimeOnce([&] { got = ways[way].function(inputs[size]); }));
      Expect(Near(got, expected[size]), ways[way].name);
    }
  }
  std::printf("Varying shapes: %d calls with 1 to %d rows; after the first %zu:\n", calls, kMostRows, warm);
  std::printf("  %-36s %8s %12s %12s %12s\n", "", "traces", "median [us]", "p99 [us]", "max [us]");
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::vector<double> times(all[i].microseconds.begin() + static_cast<std::ptrdiff_t>(warm),
                                    all[i].microseconds.end());
    std::printf("  %-36s %8d %12.2f %12.2f %12.2f\n", ways[i].name,
                static_cast<int>(ways[i].function.trace_count()), Quantile(times, 0.5), Quantile(times, 0.99),
                Quantile(times, 1));
    Expect(ways[i].function.trace_count() == ways[i].traces, ways[i].name);
  }
  WritePlot(options.svg, "Time per call, 1 to 10 rows in random order", all);
  std::printf("  the picture is in %s\n", options.svg.c_str());
}

}  // namespace sample
