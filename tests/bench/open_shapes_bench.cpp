// What a change of shape costs: calls with random sizes, on a plan that serves them all, a Session for each
// size, and a Session for each call; interleaved, so that the machine's moods burden all alike.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <random>

#include "cli/random_inputs.h"
#include "core/platform.h"
#include "graph/error.h"
#include "tests/bench/measure.h"
#include "tests/bench/subject.h"

namespace skiff::bench {
namespace {

double Microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

double Percentile(std::vector<double> values, double part) {
  const auto at = static_cast<size_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<long>(at), values.end());
  return values[at];
}

/// One way to serve the calls.
struct Way {
  const char* name;
  std::vector<double> microseconds;
};

/// A size with its inputs, and the exact Session that was prepared for it.
struct Size {
  std::vector<int64_t> symbols;
  cli::NamedTensors inputs;
  std::unique_ptr<ConvertResult> converted;
  std::unique_ptr<cli::OpenedModel> opened;
  std::unique_ptr<Session> exact;
};

double Call(Session& session, const cli::NamedTensors& inputs) {
  const uint64_t begin = platform::NowNanoseconds();
  cli::SetInputs(session, inputs);
  cli::Must([&] { return session.Run(); });
  return Microseconds(platform::NowNanoseconds() - begin);
}

std::vector<int64_t> DrawSizes(const Model& model, std::mt19937& random, int64_t most) {
  std::vector<int64_t> sizes;
  for (const SymbolInfo& symbol : model.symbols()) {
    const int64_t max = std::min(symbol.max, std::max(symbol.min, most));
    const int64_t low = (std::max<int64_t>(symbol.min, 1) + symbol.multiple - 1) / symbol.multiple;
    sizes.push_back(
        std::uniform_int_distribution<int64_t>(low, std::max(low, max / symbol.multiple))(random) *
        symbol.multiple);
  }
  return sizes;
}

std::string Text(const MemoryUsage& usage) {
  const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return fmt::format("arena {:.2f}, workspace {:.2f}, packed weights {:.2f}, inputs {:.2f} MiB",
                     mib(usage.arena), mib(usage.workspace), mib(usage.packed_weights), mib(usage.inputs));
}

/// Ratio and difference are those of calls side by side: the sizes differ from call to call.
void Print(const Way& way, const Way& same, double nodes) {
  const double median = Median(way.microseconds);
  std::vector<double> ratios, differences;
  const size_t step = same.microseconds.size() / way.microseconds.size();
  for (size_t i = 0; i < way.microseconds.size(); ++i) {
    ratios.push_back(way.microseconds[i] / same.microseconds[i * step]);
    differences.push_back(way.microseconds[i] - same.microseconds[i * step]);
  }
  fmt::print("  {:44} {:10.1f} us  p99 {:10.1f} us  {:6.3f} x same size  {:+7.0f} ns a node\n", way.name,
             median, Percentile(way.microseconds, 0.99), Median(ratios), Median(differences) * 1e3 / nodes);
}

int Measure(const std::string& path, const ConvertOptions& options, int calls, int distinct, int64_t most) {
  const auto converted = ConvertFile(path, options);
  cli::OpenedModel opened(converted->file);
  SessionOptions session_options;
  session_options.threads = 1;
  std::mt19937 random(1);
  std::vector<Size> sizes(static_cast<size_t>(distinct));
  for (Size& size : sizes) {
    size.symbols = DrawSizes(opened.model(), random, most);
    size.inputs = cli::RandomInputs(opened.model(), size.symbols, 1);
    ConvertOptions exact = options;
    const auto& symbols = opened.model().symbols();
    for (size_t i = 0; i < symbols.size(); ++i) exact.dims[symbols[i].name] = DimRange(size.symbols[i]);
    size.converted = ConvertFile(path, exact);
    size.opened = std::make_unique<cli::OpenedModel>(size.converted->file);
    size.exact = cli::CreateSession(size.opened->model(), session_options);
    Call(*size.exact, size.inputs);
  }
  const auto changing = cli::CreateSession(opened.model(), session_options);
  const auto steady = cli::CreateSession(opened.model(), session_options);
  SessionOptions keeping_options = session_options;
  keeping_options.kept_shapes = distinct;
  const auto keeping = cli::CreateSession(opened.model(), keeping_options);
  for (const Size& size : sizes) Call(*keeping, size.inputs);

  Way ways[] = {{"open plan, another size at each call", {}},
                {"open plan, the same size again", {}},
                {"open plan, a size that is kept", {}},
                {"exact Session, prepared", {}},
                {"a Session for each call", {}}};
  for (int i = 0; i < calls; ++i) {
    // Never one of the two sizes that the Session keeps.
    const Size& size = sizes[static_cast<size_t>(i % distinct)];
    Call(*steady, size.inputs);
    ways[0].microseconds.push_back(Call(*changing, size.inputs));
    ways[1].microseconds.push_back(Call(*steady, size.inputs));
    ways[2].microseconds.push_back(Call(*keeping, size.inputs));
    ways[3].microseconds.push_back(Call(*size.exact, size.inputs));
    if (i % 10 != 0) continue;
    const uint64_t begin = platform::NowNanoseconds();
    const auto fresh = cli::CreateSession(opened.model(), session_options);
    Call(*fresh, size.inputs);
    ways[4].microseconds.push_back(Microseconds(platform::NowNanoseconds() - begin));
  }
  const PlanData& plan = opened.data().signatures[0].plans[0];
  fmt::print("{}: {} plan, {} nodes, {} of them for shapes; {} calls, {} sizes\n", path,
             plan.kind == BucketKind::kUnbounded ? "unbounded" : "relaxed", plan.nodes.size(),
             plan.shape_node_count, calls, distinct);
  for (const Way& way : ways) Print(way, ways[1], static_cast<double>(plan.nodes.size()));
  fmt::print("  open Session: {}\n  one exact Session: {}\n", Text(changing->memory_usage()),
             Text(sizes[0].exact->memory_usage()));
  return 0;
}

int Run(int argc, char** argv) {
  std::string model;
  int calls = 1000;
  int distinct = 16;
  int64_t most = 64;
  cli::ConvertArguments convert;
  CLI::App app("Measures changes of shape", "open_shapes_bench");
  app.add_option("model", model, "The model")->required()->type_name("MODEL.onnx");
  app.add_option("--calls", calls, "Calls of each kind (default 1000)")->check(CLI::Range(1, 1000000));
  app.add_option("--sizes", distinct, "Different sizes (default 16)")->check(CLI::Range(3, 10000));
  app.add_option("--most", most, "The largest size of a dimension without a maximum (default 64)");
  cli::AddPlanOptions(app, convert);
  return RunProgram(argc, argv, app,
                    [&] { return Measure(model, cli::ToConvertOptions(convert), calls, distinct, most); });
}

}  // namespace
}  // namespace skiff::bench

int main(int argc, char** argv) { return skiff::bench::Run(argc, argv); }
