// skiff buckets
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/convert_options.h"
#include "cli/custom_options.h"
#include "cli/json.h"
#include "cli/number_checks.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "cli/table.h"
#include "graph/error.h"
#include "import/import_model.h"
#include "signatures.h"
#include "tune/buckets.h"

namespace skiff::cli {
namespace {

constexpr const char* kBucketsFooter =
    "A plan for a range of sizes runs each call at its exact size; its memory is planned for the largest. "
    "Plans of their own for smaller sizes touch less memory, and plans for one size save a little time. The "
    "cost of a list is the expected arena of a call, relative to that of one plan, plus the expected share "
    "of "
    "time that is lost against exact plans, measured here; every further plan has to lower it by 5 %.\n"
    "SHAPES.csv has a header of dimension names and one row per call; a column 'count' says how often.\n"
    "Example:\n"
    "  skiff buckets encoder.onnx --uniform batch=1 --uniform seq=1..128 --max-plans 4";

/// The conversions and measurements that are reported; only a guess for the progress line.
constexpr int kBucketsSteps = 24;

struct BucketsArguments {
  std::string source;
  std::string signature;
  std::string shapes;
  std::vector<std::string> uniform;
  size_t max_plans = 4;
  int threads = 0;
  bool json = false;
};

std::string ConvertLine(const BucketsArguments& arguments, const BucketProposal& proposal) {
  std::string line = fmt::format("skiff convert {} -o MODEL.skiff", ShellWord(arguments.source));
  if (!arguments.signature.empty()) line += fmt::format(" --signature {}", ShellWord(arguments.signature));
  for (const auto& [name, range] : proposal.contract) {
    std::string sizes = std::to_string(range.min);
    if (range.min != range.max) sizes += fmt::format("..{}", range.max);
    if (range.min != range.max && range.multiple > 1) sizes += fmt::format(",multiple={}", range.multiple);
    line += " --dim " + ShellWord(fmt::format("{}={}", name, sizes));
  }
  // The last bucket needs no plan of its own: the plan for all shapes serves it with the same memory.
  for (size_t i = 0; i + 1 < proposal.buckets.size(); ++i) {
    const BucketCost& bucket = proposal.buckets[i];
    line += i == 0 ? fmt::format(" --bucket {}=", ShellWord(proposal.symbol)) : ",";
    line += bucket.exact ? std::to_string(bucket.largest)
                         : fmt::format("{}..{}", bucket.smallest, bucket.largest);
  }
  return line;
}

void PrintProposal(const BucketsArguments& arguments, const BucketProposal& proposal) {
  using Align = Table::Align;
  Table table({{"bucket"},
               {"kind"},
               {"calls", Align::kRight},
               {"arena bytes", Align::kRight},
               {"time lost", Align::kRight}});
  for (const BucketCost& bucket : proposal.buckets) {
    const std::string sizes = bucket.smallest == bucket.largest
                                  ? std::to_string(bucket.largest)
                                  : fmt::format("{}..{}", bucket.smallest, bucket.largest);
    table.Add({fmt::format("{}={}", proposal.symbol, sizes), bucket.exact ? "exact" : "relaxed",
               fmt::format("{:.1f} %", 100 * bucket.calls), Grouped(bucket.arena_bytes),
               fmt::format("{:.1f} %", 100 * bucket.time_lost)});
  }
  Print("{}", table.ToString());
  Print("cost {:.3f}, of one plan {:.3f}\n", proposal.cost, proposal.cost_of_one);
  if (proposal.buckets.size() == 1)
    Print("one plan for all shapes is best: no list of up to {} lowers the cost by 5 % a plan\n",
          arguments.max_plans);
  Print("{}\n", ConvertLine(arguments, proposal));
}

Json ProposalJson(const BucketsArguments& arguments, const BucketProposal& proposal) {
  Json json = {{"model", arguments.source}, {"dimension", proposal.symbol},
               {"cost", proposal.cost},     {"cost_of_one", proposal.cost_of_one},
               {"buckets", Json::array()},  {"convert", ConvertLine(arguments, proposal)}};
  for (const BucketCost& bucket : proposal.buckets) {
    json["buckets"].push_back({{"min", bucket.smallest},
                               {"max", bucket.largest},
                               {"kind", bucket.exact ? "exact" : "relaxed"},
                               {"calls", bucket.calls},
                               {"arena_bytes", bucket.arena_bytes},
                               {"time_lost", bucket.time_lost}});
  }
  return json;
}

void Buckets(const BucketsArguments& arguments) {
  if (arguments.shapes.empty() == arguments.uniform.empty())
    throw CLI::ValidationError("--shapes, --uniform", "one of them says which shapes occur");
  ObservedShapes shapes;
  if (!arguments.shapes.empty()) {
    shapes = ReadObservedShapes(arguments.shapes);
  } else {
    ConvertArguments dims;
    dims.dims = arguments.uniform;
    const ConvertOptions options = ToConvertOptions(dims);
    for (const auto& [name, range] : options.dims) {
      if (range.max == Symbol::kUnbounded)
        throw CLI::ValidationError(
            "--uniform", fmt::format("'{}' needs a largest size, for example {}=1..128", name, name));
    }
    shapes = UniformShapes(options.dims);
  }
  BucketProposal proposal;
  {
    Progress progress(kBucketsSteps);
    BucketOptions options;
    options.max_plans = arguments.max_plans;
    options.threads = arguments.threads;
    options.progress = [&](const std::string& step) { progress.Step(step); };
    const std::unique_ptr<SourceModel> source = OpenSource(arguments.source);
    std::vector<std::string> wanted;
    if (!arguments.signature.empty()) wanted.push_back(arguments.signature);
    proposal = ProposeBuckets(source->Import(ChooseSignatures(*source, wanted)[0], {}), shapes, options);
  }
  if (arguments.json) return PrintJson(JsonDocument("buckets", ProposalJson(arguments, proposal)));
  PrintProposal(arguments, proposal);
}

}  // namespace

void AddBuckets(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("buckets", "Propose plans for the shapes that a model will meet");
  auto arguments = std::make_shared<BucketsArguments>();
  command->add_option("source", arguments->source, "The .onnx or .tflite model")
      ->required()
      ->type_name("MODEL");
  AddCustomOptions(*command);
  command
      ->add_option("--signature", arguments->signature,
                   "The entry point of a .tflite file whose shapes these are (default: its first)")
      ->type_name("NAME");
  command->add_option("--shapes", arguments->shapes, "Observed sizes of the model's open dimensions")
      ->type_name("SHAPES.csv");
  command
      ->add_option("--uniform", arguments->uniform,
                   "Every size of a dimension equally often, instead; repeatable")
      ->type_name("NAME=MIN..MAX")
      ->allow_extra_args(false);
  command->add_option("--max-plans", arguments->max_plans, "Plans to propose at most (default 4)")
      ->type_name("N")
      ->check(WholeBetween(1, 64));
  command
      ->add_option("--threads", arguments->threads,
                   "Threads of the measured runs (default: as many as 'skiff run')")
      ->type_name("N")
      ->check(WholeBetween(0, kMaxThreads));
  AddJsonOption(*command, arguments->json);
  command->footer(kBucketsFooter);
  command->callback([arguments] { Buckets(*arguments); });
}

}  // namespace skiff::cli
