// What a call of a traced Function costs over the Run() of its plan: finding the trace, setting inputs,
// copying results out.
#include <cstdio>

#include "core/platform.h"
#include "samples/eager_and_graph/workloads.h"
#include "skiff/delegates.h"
#include "skiff/session.h"
#include "tests/bench/measure.h"
#include "tests/support/tiny_models.h"
#include "trace/function.h"
#include "trace/ops.h"
#include "trace/save.h"

namespace skiff::bench {
namespace {

using namespace eager;  // NOLINT: the operators, as a user's program has them

constexpr int kPairs = 201;
constexpr int kCalls = 200;  ///< In a row: a clock does not see a single one.

struct Case {
  const char* name;
  Function<Tensors(const Tensors&)> function;
  Tensors arguments;
  int other_traces = 0;  ///< Made before the measured one, so that the call has to choose.
};

void Measure(const Case& subject) {
  for (int i = 0; i < subject.other_traces; ++i)
    subject.function({Tensor::Zeros(DType::kF32, {100 + i}), Tensor::Zeros(DType::kF32, {100 + i})});
  for (int i = 0; i < 3; ++i) subject.function(subject.arguments);
  const auto concrete = subject.function.ConcreteFunctions().back();
  const testing::AlignedBytes file(SerializeFunctions({{"main", concrete}}));
  const auto model = Model::Open(file.span(), {BuiltinDelegates()});
  SessionOptions options;
  options.threads = 1;
  options.kept_shapes = 16;
  const auto session = Session::Create(*model.value(), options);
  for (size_t i = 0; i < subject.arguments.size(); ++i)
    (void)session.value()->SetInput(static_cast<int>(i), subject.arguments[i].data().view());
  Pairs pairs;
  MeasurePairs(
      kPairs, 20,
      [&] {
        for (int i = 0; i < kCalls; ++i) subject.function(subject.arguments);
      },
      [&] {
        for (int i = 0; i < kCalls; ++i) (void)session.value()->Run();
      },
      [] {}, pairs);
  std::vector<double> over;
  for (size_t i = 0; i < pairs.a.size(); ++i) over.push_back((pairs.a[i] - pairs.b[i]) / kCalls);
  const Estimate estimate = MedianWithInterval(over);
  std::printf("%-36s %10.0f %10.0f %10.0f  [%.0f, %.0f]\n", subject.name, Median(pairs.a) / kCalls,
              Median(pairs.b) / kCalls, estimate.median, estimate.low, estimate.high);
}

void Run() {
  const FunctionOptions exact{.relax_shapes = false, .retrace_warning = 0, .threads = 1};
  const FunctionOptions open{.input_signature = {"f32[x, 20]"}, .threads = 1};
  const auto add = [](const Tensors& x) { return Tensors{x[0] + x[1]}; };
  const auto rows = [net = sample::RowsNet()](const Tensors& x) { return Tensors{net(x[0])}; };
  const Tensors vectors = {sample::Uniform({4}, 1), sample::Uniform({4}, 2)};
  std::printf("%-36s %10s %10s %10s  95 %%\n", "[ns]", "call", "Run()", "over");
  Measure({"x + y, f32[4]", {add, exact}, vectors});
  Measure({"x + y, the last of 20 traces", {add, exact}, vectors, 19});
  Measure({"rows [7, 20], dense 64, 64, 10", {rows, exact}, {sample::Uniform({7, 20}, 3)}});
  Measure({"the same, input_signature f32[x, 20]", {rows, open}, {sample::Uniform({7, 20}, 3)}});
}

}  // namespace
}  // namespace skiff::bench

int main() { skiff::bench::Run(); }
