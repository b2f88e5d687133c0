// skiff bench
#include <fmt/format.h>

#include <memory>

#include "cli/bench_report.h"
#include "cli/chrome_trace.h"
#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/number_checks.h"
#include "cli/output_files.h"
#include "cli/parse_sizes.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "core/platform.h"
#include "emit/write_file.h"
#include "files/output_path.h"
#include "run/random_inputs.h"

namespace skiff::cli {
namespace {

constexpr const char* kBenchFooter =
    "Whole runs are timed without profiling; the times of single nodes come from as many profiled runs. GB/s "
    "counts what each node reads and writes, constants included.\n"
    "Open dimensions have the sizes that --dim or --shape says; else the largest of their contract; where it "
    "has no end, or the net refuses that size, 1 or the next that it takes.\n"
    "Example, one thread, with a trace for ui.perfetto.dev:\n"
    "  skiff bench mobilenet.skiff --threads 1 --runs 200 --trace trace.json";

/// What Bench() says of its progress, at most.
constexpr int kBenchSteps = 4;

struct BenchArguments : SessionArguments {
  std::string model;
  InputArguments inputs;
  std::vector<std::string> dims;
  std::vector<std::string> shapes;
  std::string output;
  int runs = 50;
  int warmup = 5;
  size_t top = 20;
  bool json = false;
  bool tune = false;
  std::string trace;
};

/// Inputs of another shape, where the net takes one.
void AddOtherInputs(const InputSources& sources, const ModelSignature& signature, const SymbolSizes& sizes,
                    BenchOptions& options, BenchContext& context) {
  const std::vector<int64_t> other = OtherSizes(signature, sizes.sizes);
  if (other == sizes.sizes) return;
  SymbolSizes said = sizes;
  said.sizes = other;
  NamedTensors inputs = ReadCallInputs(sources, signature, said, {}, nullptr);
  if (!WhyRefused(signature, inputs).empty()) return;
  context.other_sizes = SizesText(sizes.symbols, other);
  options.other_inputs = std::move(inputs);
}

void RunBench(const BenchArguments& arguments) {
  CommandFiles files;
  files.Reads("the model", arguments.model);
  const std::string trace_path = files.Writes("--trace", arguments.trace);
  const InputSources sources = ToSources(arguments.inputs, kDefaultInputs);
  const NamedShapes shapes = ParseShapes(arguments.shapes);
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
  sizes.SetShapes(shapes, signature.info().inputs);
  files.ReadsInputs(sources, signature.info().inputs);
  if (!arguments.output.empty()) {
    files.WritesInto("-o", arguments.output, NpyFilesOf(arguments.output, signature.info().outputs));
    PrepareOutputFolder(arguments.output);
  }
  std::string note;
  const NamedTensors inputs = ReadCallInputs(sources, signature, sizes, {}, &note);
  PrintNote(note);
  sizes.sizes = SizesOf(signature, inputs);
  context.sizes = SizesText(sizes.symbols, sizes.sizes);
  context.sizes_json = SizesJson(signature, sizes.sizes);
  BenchOptions options{ToSessionOptions(arguments, signature), arguments.runs, arguments.warmup};
  options.keep_outputs = !arguments.output.empty();
  auto progress = std::make_unique<Progress>(kBenchSteps);
  options.progress = [&](const std::string& step) { progress->Step(step); };
  if (IsRandomSource(sources.others) && sources.files.empty())
    AddOtherInputs(sources, signature, sizes, options, context);
  if (arguments.tune)
    context.median_by_rule_ns = Tune(arguments.model, arguments.cache_folder, inputs, options).Quantile(0.5);
  const BenchResult result =
      AtSizes(context.sizes, "--dim", [&] { return Bench(opened.model(), inputs, options); });
  progress.reset();
  context.backend = BackendText(arguments.backend, result.target);
  if (result.target == Target::kVulkan) context.tuning = ReadTuning(arguments.cache_folder);
  if (!trace_path.empty()) {
    const std::string trace =
        ChromeTrace(arguments.model, result).dump(-1, ' ', false, Json::error_handler_t::replace);
    WriteFileAtomically(trace_path, {trace.begin(), trace.end()});
  }
  if (!arguments.output.empty()) WriteTensors(arguments.output, result.outputs);
  if (arguments.json) {
    PrintJson(JsonDocument("bench", BenchJson(context, result)));
  } else {
    Print("{}", BenchText(context, result, arguments.top));
  }
}

}  // namespace

void AddBench(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("bench", "Measure a .skiff model: run times, single nodes, memory");
  auto arguments = std::make_shared<BenchArguments>();
  command->add_option("model", arguments->model, "The model")->required()->type_name("MODEL.skiff");
  AddInputOptions(*command, arguments->inputs, fmt::format("default {}", kDefaultInputs));
  AddSizesOptions(*command, arguments->dims, arguments->shapes);
  AddOutputOption(*command, arguments->output, "the outputs of the last timed run");
  AddSessionOptions(*command, *arguments);
  command->add_option("--runs", arguments->runs, "Timed runs (default 50)")
      ->type_name("N")
      ->check(WholeBetween(1, 1000000));
  command->add_option("--warmup", arguments->warmup, "Runs before them (default 5)")
      ->type_name("N")
      ->check(WholeBetween(0, 1000000));
  command->add_option("--top", arguments->top, "How many of the slowest nodes to print (default 20)")
      ->type_name("N")
      ->check(WholeBetween(0, 1000000));
  AddJsonOption(*command, arguments->json);
  command->add_option("--trace", arguments->trace, "Write the last profiled runs as a Chrome trace")
      ->type_name("FILE.json");
  command->add_flag(
      "--tune", arguments->tune,
      "Measure which sizes of work groups are fastest on this machine's GPU, and keep them in the "
      "folder of --cache, where later Sessions find them; needs --backend vulkan");
  command->footer(kBenchFooter);
  command->callback([arguments] {
    if (arguments->tune && (arguments->backend != "vulkan" || arguments->cache_folder.empty()))
      throw CLI::ValidationError("--tune",
                                 "needs --backend vulkan, and a folder for what it finds: --cache DIR");
    RunBench(*arguments);
  });
}

}  // namespace skiff::cli
