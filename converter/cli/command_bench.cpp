// skiff bench
#include <fmt/format.h>

#include <memory>

#include "cli/bench_report.h"
#include "cli/chrome_trace.h"
#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/parse_sizes.h"
#include "cli/session_options.h"
#include "core/platform.h"
#include "emit/write_model.h"
#include "files/output_path.h"
#include "run/random_inputs.h"

namespace skiff::cli {
namespace {

constexpr const char* kFooter =
    "Whole runs are timed without profiling; the times of single nodes come from as many profiled runs. GB/s "
    "counts what\n"
    "each node reads and writes, constants included.\n"
    "Example, one thread, with a trace for ui.perfetto.dev:\n"
    "  skiff bench mobilenet.skiff --threads 1 --runs 200 --trace trace.json\n"
    "Open dimensions have the sizes that --dim says; else the largest of their contract, or 7 where it has "
    "no "
    "end.";

struct Arguments : SessionArguments {
  std::string model;
  std::string inputs = "random:1";
  std::vector<std::string> ranges;
  std::vector<std::string> dims;
  int runs = 50;
  int warmup = 5;
  size_t top = 20;
  bool json = false;
  bool tune = false;
  std::string trace;
};

void RunBench(const Arguments& arguments) {
  std::string trace_path;
  if (!arguments.trace.empty()) trace_path = CheckOutputFile(arguments.trace);
  const InputRanges ranges = ParseInputRanges(arguments.ranges);
  NamedSizes dims;
  for (const std::string& text : arguments.dims) ParseSizes("--dim", text, dims);
  BenchContext context;
  context.model = arguments.model;
  const uint64_t begin = platform::NowNanoseconds();
  OpenedModel opened(arguments.model, arguments.cache_folder);
  context.load_ns = static_cast<double>(platform::NowNanoseconds() - begin);
  context.file_bytes = opened.model().file_bytes();
  const ModelSignature signature = FindSignature(opened.model(), arguments.signature);
  if (opened.model().signature_count() > 1) context.signature = signature.name();
  SymbolSizes sizes(signature);
  sizes.Set(dims, "--dim");
  const NamedTensors inputs = ReadInputSource(arguments.inputs, signature, sizes, ranges);
  sizes.sizes = SizesOf(signature, inputs);
  context.sizes = SizesText(sizes.symbols, sizes.sizes);
  BenchOptions options{ToSessionOptions(arguments, signature), arguments.runs, arguments.warmup, {}};
  if (IsRandomSource(arguments.inputs)) {
    const std::vector<int64_t> other = OtherSizes(signature, sizes.sizes);
    if (other != sizes.sizes) {
      context.other_sizes = SizesText(sizes.symbols, other);
      sizes.sizes = other;
      options.other_inputs = ReadInputSource(arguments.inputs, signature, sizes, ranges);
    }
  }
  if (arguments.tune)
    context.median_by_rule_ns = Tune(arguments.model, arguments.cache_folder, inputs, options).Quantile(0.5);
  const BenchResult result =
      AtSizes(context.sizes, "--dim", [&] { return Bench(opened.model(), inputs, options); });
  context.backend = BackendText(arguments.backend, result.target);
  if (result.target == Target::kVulkan) context.tuning = ReadTuning(arguments.cache_folder);
  if (!trace_path.empty()) {
    const std::string trace = ChromeTrace(arguments.model, result).dump();
    WriteFileAtomically(trace_path, {trace.begin(), trace.end()});
  }
  fmt::print("{}", arguments.json ? BenchJson(context, result).dump(2) + "\n"
                                  : BenchText(context, result, arguments.top));
}

}  // namespace

void AddBench(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("bench", "Measure a .skiff model: run times, single nodes, memory");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("model", arguments->model, "The model")->required()->type_name("MODEL.skiff");
  command
      ->add_option("--inputs", arguments->inputs,
                   "Where the inputs come from (default random:1): see 'skiff parity --help'")
      ->type_name("DIR|random:SEED[:LOW..HIGH]");
  AddInputRangeOption(*command, arguments->ranges);
  AddSizesOption(*command, arguments->dims);
  AddSessionOptions(*command, *arguments);
  command->add_option("--runs", arguments->runs, "Timed runs (default 50)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--warmup", arguments->warmup, "Runs before them (default 5)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--top", arguments->top, "How many of the slowest nodes to print (default 20)")
      ->type_name("N");
  command->add_flag("--json", arguments->json, "Print JSON; times in nanoseconds, sizes in bytes");
  command->add_option("--trace", arguments->trace, "Write the last profiled runs as a Chrome trace")
      ->type_name("FILE.json");
  command->add_flag(
      "--tune", arguments->tune,
      "Measure which sizes of work groups are fastest on this machine's GPU, and keep them in the "
      "folder of --cache, where later Sessions find them; needs --backend vulkan");
  command->footer(kFooter);
  command->callback([arguments] {
    if (arguments->tune && (arguments->backend != "vulkan" || arguments->cache_folder.empty()))
      throw CLI::ValidationError("--tune",
                                 "needs --backend vulkan, and a folder for what it finds: --cache DIR");
    RunBench(*arguments);
  });
}

}  // namespace skiff::cli
