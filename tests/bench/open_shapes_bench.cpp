// What a change of shape costs: plans for ranges and without a limit, exact buckets, and a Session for each
// call; interleaved, so that the machine's moods burden all alike.
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

#include "cli/table.h"
#include "core/platform.h"
#include "graph/error.h"
#include "run/sizes.h"
#include "tests/bench/measure.h"
#include "tests/bench/shape_calls.h"
#include "tests/bench/subject.h"

namespace skiff::bench {
namespace {

/// What the open dimensions' cost may be: beside the same size, or a node, whichever is larger.
constexpr double kMostRatio = 1.15;
constexpr double kMostMicrosecondsANode = 1.0;
/// A Session for each call is slow, and no faster the next time.
constexpr size_t kAnewEvery = 10;
constexpr size_t kMemoryRounds = 20;

struct Arguments {
  std::string model;
  size_t calls = 1000;
  size_t distinct = 16;
  int64_t most = 64;
  bool paced = false;
  bool cpu_time = false;
  cli::ConvertArguments convert;
};

struct File {
  std::string name;
  std::vector<uint8_t> bytes;
  int kept = SessionOptions().kept_shapes;
};

double Percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

bool IsUnbounded(const std::vector<uint8_t>& file) {
  OpenedModel opened(file);
  return opened.data().signatures[0].plans[0].kind == BucketKind::kUnbounded;
}

/// The contract as it was given, and without its upper ends.
std::vector<File> OpenFiles(const std::string& path, const ConvertOptions& options) {
  std::vector<File> files;
  files.push_back({"relaxed", ConvertFile(path, options)->file});
  if (IsUnbounded(files[0].bytes)) {
    files[0].name = "unbounded";
    return files;
  }
  ConvertOptions endless = options;
  for (auto& [name, range] : endless.dims) range.max = Symbol::kUnbounded;
  files.push_back({"unbounded", ConvertFile(path, endless)->file});
  if (!IsUnbounded(files[1].bytes)) files.pop_back();
  return files;
}

/// A plan of its own for each size, and all of them kept.
File ExactFile(const std::string& path, ConvertOptions options, const Model& model,
               const std::vector<SizedCall>& calls) {
  for (const SizedCall& call : calls) {
    Bucket& bucket = options.buckets.emplace_back();
    for (size_t i = 0; i < call.sizes.size(); ++i) bucket[model.symbols()[i].name] = DimRange(call.sizes[i]);
  }
  return {"exact buckets", ConvertFile(path, options)->file, static_cast<int>(calls.size())};
}

/// Waits for a line where another program's calls take turns with these.
void AwaitTurn(bool paced) {
  if (!paced) return;
  std::string line;
  fmt::print("ready\n");
  std::fflush(stdout);
  if (!std::getline(std::cin, line))
    Throw(StatusCode::kIo, "no line came to say that it is this program's turn");
}

std::vector<double> AllTimes(const Way& way) {
  std::vector<double> all;
  for (const CallKind kind : kRound) all.insert(all.end(), way.times(kind).begin(), way.times(kind).end());
  return all;
}

void PrintTimes(const std::vector<std::unique_ptr<Way>>& ways, const std::vector<uint64_t>& peaks) {
  constexpr auto kRight = cli::Table::Align::kRight;
  cli::Table table({{"us", cli::Table::Align::kLeft},
                    {"median", kRight},
                    {"p90", kRight},
                    {"p99", kRight},
                    {"new size", kRight},
                    {"its p99", kRight},
                    {"same size", kRight},
                    {"size before", kRight},
                    {"peak MiB", kRight}});
  const auto text = [](double microseconds) { return fmt::format("{:.1f}", microseconds); };
  for (size_t i = 0; i < ways.size(); ++i) {
    const Way& way = *ways[i];
    const std::vector<double> all = AllTimes(way);
    const std::vector<double>& fresh = way.times(CallKind::kNew);
    table.Add({way.name(), text(Median(all)), text(Percentile(all, 0.9)), text(Percentile(all, 0.99)),
               text(Median(fresh)), text(Percentile(fresh, 0.99)), text(Median(way.times(CallKind::kSame))),
               text(Median(way.times(CallKind::kBefore))),
               fmt::format("{:.1f}", static_cast<double>(peaks[i]) / (1 << 20))});
  }
  fmt::print("{}", table.ToString());
}

/// Call by call, because sizes differ from round to round.
struct Beside {
  double ratio;
  double difference;
};

Beside Compare(const std::vector<double>& times, const std::vector<double>& same) {
  std::vector<double> ratios, differences;
  for (size_t i = 0; i < times.size(); ++i) {
    ratios.push_back(times[i] / same[i]);
    differences.push_back(times[i] - same[i]);
  }
  return {Median(ratios), Median(differences)};
}

void PrintCosts(const Way& way) {
  const auto nodes = static_cast<double>(way.first_plan().nodes.size());
  const Beside fresh = Compare(way.times(CallKind::kNew), way.times(CallKind::kSame));
  const Beside back = Compare(way.times(CallKind::kBack), way.times(CallKind::kSame));
  const bool within = fresh.ratio < kMostRatio || fresh.difference / nodes < kMostMicrosecondsANode;
  fmt::print(
      "{}: a new size costs {:.3f} x the same size, {:+.0f} ns a node ({}); one that is kept {:.3f} x\n",
      way.name(), fresh.ratio, fresh.difference * 1e3 / nodes,
      within ? "within 1.15 x or 1 us a node" : "MORE THAN 1.15 x AND 1 us a node", back.ratio);
}

int Measure(const Arguments& arguments) {
  const ConvertOptions options = cli::ToConvertOptions(arguments.convert);
  std::vector<File> files = OpenFiles(arguments.model, options);
  std::vector<SizedCall> calls;
  {
    OpenedModel opened(files[0].bytes);
    calls = DrawCalls(opened.model(), arguments.distinct, arguments.most);
    files.push_back(ExactFile(arguments.model, options, opened.model(), calls));
    for (const SizedCall& call : calls)
      fmt::print("sizes {}\n", SizesText(opened.model().symbols(), call.sizes));
  }
  files.push_back({"anew for each call", files[0].bytes, 0});

  std::vector<uint64_t> peaks;
  for (const File& file : files) peaks.push_back(PeakBytes(file.bytes, file.kept, calls, kMemoryRounds));
  const Clock clock = arguments.cpu_time ? ThreadNanoseconds : platform::NowNanoseconds;
  std::vector<std::unique_ptr<Way>> ways;
  for (const File& file : files)
    ways.push_back(std::make_unique<Way>(file.name, file.bytes, file.kept, clock));
  std::vector<Way*> all, quick;
  for (const auto& way : ways) all.push_back(way.get());
  quick.assign(all.begin(), all.end() - 1);
  for (size_t round = 0; round < calls.size(); ++round) RunRound(round, calls, all);
  for (const auto& way : ways) way->Forget();

  const size_t rounds = (arguments.calls + kRoundCalls - 1) / kRoundCalls;
  for (size_t round = 0; round < rounds; ++round) {
    AwaitTurn(arguments.paced);
    RunRound(round, calls, round % kAnewEvery == 0 ? all : quick);
  }
  const PlanData& plan = ways[0]->first_plan();
  fmt::print("{}: {} nodes, {} of them for shapes; {} calls, {} sizes, one thread\n", arguments.model,
             plan.nodes.size(), plan.shape_node_count, rounds * kRoundCalls, calls.size());
  PrintTimes(ways, peaks);
  for (const auto& way : ways) {
    if (way.get() != all.back()) PrintCosts(*way);
  }
  if (arguments.paced) fmt::print("times {:.1f}\n", fmt::join(AllTimes(*ways[0]), " "));
  return 0;
}

int Run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Measures changes of shape", "open_shapes_bench");
  app.add_option("model", arguments.model, "The model")->required()->type_name("MODEL.onnx");
  app.add_option("--calls", arguments.calls, "Calls of each way (default 1000)")
      ->check(CLI::Range(size_t{4}, size_t{1000000}));
  app.add_option("--sizes", arguments.distinct, "Different sizes (default 16)")
      ->check(CLI::Range(size_t{4}, size_t{1000}));
  app.add_option("--most", arguments.most, "The largest size of a dimension without a maximum (default 64)");
  app.add_flag("--cpu-time", arguments.cpu_time, "Time that the thread had a processor, for busy machines");
  app.add_flag("--paced", arguments.paced,
               "Print 'ready' and await a line before each round of four calls; in the end print the first "
               "way's times");
  cli::AddPlanOptions(app, arguments.convert);
  return RunProgram(argc, argv, app, [&] { return Measure(arguments); });
}

}  // namespace
}  // namespace skiff::bench

int main(int argc, char** argv) { return skiff::bench::Run(argc, argv); }
