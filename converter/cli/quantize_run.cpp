#include "cli/quantize_run.h"

#include <filesystem>
#include <memory>

#include "cli/calibration_inputs.h"
#include "cli/candidate.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/quantize_page.h"
#include "cli/quantize_report.h"
#include "cli/session_options.h"
#include "cli/summary.h"
#include "cli/table.h"
#include "cli/tool.h"
#include "emit/write_file.h"
#include "files/output_path.h"
#include "graph/error.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

constexpr int kSteps = 12;

void CheckSource(const QuantizeArguments& arguments) {
  std::error_code error;
  if (std::filesystem::equivalent(arguments.source, arguments.output, error))
    Throw(StatusCode::kInvalidArgument, "-o {}: is the source file itself; choose another name",
          arguments.output);
}

NamedGraph ImportOne(const QuantizeArguments& arguments, const ConvertOptions& options) {
  std::vector<NamedGraph> graphs = ImportSignatures(*OpenSource(arguments.source), options);
  if (graphs.size() == 1) return std::move(graphs[0]);
  std::vector<std::string> names;
  for (const NamedGraph& graph : graphs) names.push_back(graph.name);
  Throw(StatusCode::kInvalidArgument,
        "{}: has {} signatures, and inputs to calibrate are those of one; choose it with --signature: '{}'",
        arguments.source, graphs.size(), fmt::join(names, "', '"));
}

/// Reads as the float net's file would be read.
std::vector<NamedTensors> ReadCalls(const QuantizeArguments& arguments, OpenedModel& opened,
                                    Progress& progress) {
  if (arguments.calibrate.empty()) return {};
  const ModelSignature signature(opened.model());
  return ReadCalibration(arguments.calibrate, signature, SymbolSizes(signature),
                         ParseInputRanges(arguments.input_ranges), arguments.samples,
                         [&](const std::string& step) { progress.Step(step); });
}

/// How errors are measured, for people and reports.
std::string MeasureOf(const QuantizeArguments& arguments) {
  return arguments.score.empty() ? arguments.measure : "score";
}

void State(const QuantizeArguments& arguments, size_t calls, const std::optional<double>& error,
           Graph& graph) {
  const auto state = [&](const char* key, const std::string& value) {
    graph.stated.emplace_back(std::string("quantize:") + key, value);
  };
  state("format", arguments.format);
  if (calls > 0) state("calls", fmt::format("{}", calls));
  if (IsDrawn(arguments.calibrate)) state("calibrated", "random");
  if (RoundsValues(*FormatFromName(arguments.format))) state("ranges", arguments.ranges);
  if (!arguments.keep.empty()) state("keep", fmt::format("{}", fmt::join(arguments.keep, " ")));
  if (error) state("error", fmt::format("{} {:.3g}", MeasureOf(arguments), *error));
}

/// Told to the options; they point to `candidates` and `arguments`.
void MeasureCandidates(const QuantizeArguments& arguments, const Candidates& candidates, size_t calls,
                       QuantizeOptions& options) {
  options.bytes_of = [&, calls](const Graph& graph) {
    constexpr double kLongError = -1.23e-100;  // What the file will say is not known yet, and not longer.
    Graph stated = graph;
    State(arguments, calls, kLongError, stated);
    return candidates.Bytes(stated);
  };
  options.milliseconds_of = [&](const Graph& graph) {
    return candidates.Milliseconds(graph, arguments.threads);
  };
  if (arguments.score.empty()) return;
  options.score_of = [&](const Graph& graph) { return candidates.Score(graph, arguments.score); };
}

struct Written {
  std::unique_ptr<ConvertedFile> file;
  QuantizeResult result;
  QuantizedSizes sizes;
};

Written QuantizeAndWrite(const QuantizeArguments& arguments, const std::string& output, StepTimes& times) {
  Progress progress(kSteps);
  const auto step = [&](const std::string& name) {
    times.Begin(name.substr(0, name.find(',')));
    progress.Step(name);
  };
  ConvertOptions convert = ToConvertOptions(arguments);
  if (arguments.target == "vulkan") convert.targets = {Target::kVulkan};
  QuantizeOptions options = ToQuantizeOptions(arguments);
  options.progress = step;
  step("import");
  NamedGraph graph = ImportOne(arguments, convert);
  Written written;
  std::vector<NamedTensors> calls;
  {
    step("convert the float net");
    std::vector<NamedGraph> floats;
    floats.push_back(graph);
    const std::unique_ptr<ConvertedFile> file = ConvertGraphs(std::move(floats), convert);
    written.sizes.before = file->file.size();
    OpenedModel opened(file->file);
    step("read inputs");
    calls = ReadCalls(arguments, opened, progress);
  }
  const Candidates candidates(graph.name, convert, output, calls.empty() ? NamedTensors() : calls[0]);
  MeasureCandidates(arguments, candidates, calls.size(), options);
  written.result = QuantizeGraph(std::move(graph.graph), calls, options);
  State(arguments, calls.size(), written.result.cost.error, written.result.graph);
  std::vector<NamedGraph> quantized;
  quantized.push_back({graph.name, written.result.graph});
  ConvertOptions writing = convert;
  writing.progress = step;
  written.file = ConvertGraphsTo(std::move(quantized), output, writing);
  times.End();
  written.sizes.behind = std::filesystem::file_size(output);
  return written;
}

/// What was done, for the top of the report.
std::vector<std::pair<std::string, std::string>> Facts(const QuantizeArguments& arguments,
                                                       const Written& written) {
  std::vector<std::pair<std::string, std::string>> facts = {{"source", arguments.source},
                                                            {"file", arguments.output}};
  for (const auto& [key, value] : written.result.graph.stated) {
    constexpr std::string_view kOwn = "quantize:";
    if (key.starts_with(kOwn)) facts.emplace_back(key.substr(kOwn.size()), value);
  }
  const auto times = static_cast<double>(written.sizes.before) / static_cast<double>(written.sizes.behind);
  facts.emplace_back("bytes",
                     fmt::format("{} as floats, {} now: {:.1f} times smaller", Grouped(written.sizes.before),
                                 Grouped(written.sizes.behind), times));
  return facts;
}

void WriteReport(const QuantizeArguments& arguments, const std::string& path, const Written& written) {
  const std::string page = QuantizePage(
      fmt::format("{} as {}", std::filesystem::path(arguments.source).filename().string(), arguments.format),
      Facts(arguments, written), written.result, arguments.measure, MeasureOf(arguments));
  WriteFileAtomically(path, {page.begin(), page.end()});
}

/// Each budget that is not kept, as a sentence.
std::vector<std::string> Beyond(const QuantizeArguments& arguments, const Written& written) {
  const BudgetCost& cost = written.result.cost;
  std::vector<std::string> beyond;
  if (arguments.max_error && *cost.error > *arguments.max_error)
    beyond.push_back(fmt::format("the error is {:.3g} ({}), beyond --max-error {}", *cost.error,
                                 MeasureOf(arguments), *arguments.max_error));
  if (arguments.max_bytes && written.sizes.behind > *arguments.max_bytes)
    beyond.push_back(fmt::format("the file has {} bytes, beyond --max-bytes {}",
                                 Grouped(written.sizes.behind), Grouped(*arguments.max_bytes)));
  if (arguments.max_ms && cost.milliseconds && *cost.milliseconds > *arguments.max_ms)
    beyond.push_back(fmt::format("a run takes {:.3g} ms on this machine, beyond --max-ms {}",
                                 *cost.milliseconds, *arguments.max_ms));
  return beyond;
}

void CheckTogether(const QuantizeArguments& arguments) {
  const std::pair<const char*, bool> need_inputs[] = {{"--max-error", arguments.max_error.has_value()},
                                                      {"--max-bytes", arguments.max_bytes.has_value()},
                                                      {"--max-ms", arguments.max_ms.has_value()},
                                                      {"--report", !arguments.report.empty()}};
  for (const auto& [option, given] : need_inputs) {
    if (given && arguments.calibrate.empty())
      throw CLI::ValidationError(option, "needs inputs to measure with; say --calibrate FOLDER");
  }
  if (!arguments.score.empty() && arguments.score.find(kCandidate) == std::string::npos)
    throw CLI::ValidationError(
        "--score", "expected a command with {} where the candidate's file goes, for example 'eval.py {}'");
}

}  // namespace

int RunQuantize(const QuantizeArguments& arguments) {
  CheckSource(arguments);
  CheckTogether(arguments);
  const std::string output = CheckOutputFile(arguments.output);
  const std::string report = arguments.report.empty() ? "" : CheckOutputFile(arguments.report);
  if (IsDrawn(arguments.calibrate))
    PrintNote(
        "the net is calibrated with random inputs: ranges of real ones are others; use the result to try "
        "things "
        "out, and inputs as they will occur (--calibrate FOLDER) for the one that counts");
  StepTimes times;
  const Written written = QuantizeAndWrite(arguments, output, times);
  for (const std::string& sentence : written.result.graph.left_out)
    fmt::print(stderr, "note: {}: {}\n", arguments.source, sentence);
  for (const std::string& note : written.result.notes) fmt::print(stderr, "note: {}\n", note);
  if (!report.empty()) WriteReport(arguments, report, written);
  const std::vector<std::string> beyond = Beyond(arguments, written);
  for (const std::string& sentence : beyond) fmt::print(stderr, "skiff: {}\n", sentence);
  const int code = beyond.empty() ? kDone : kBeyondBudget;
  if (arguments.json) {
    Json json = QuantizeJson(written.result, written.sizes, MeasureOf(arguments));
    json["source"] = arguments.source;
    json["file"] = output;
    PrintJson(JsonDocument("quantize", json));
    return code;
  }
  for (const auto& signature : written.file->signatures) {
    if (arguments.explain) fmt::print("{}\n", Explain(*signature));
  }
  fmt::print("{}", QuantizeText(written.result, written.sizes, MeasureOf(arguments)));
  fmt::print("{}", ConversionSummary(output, *written.file, times, {}));
  return code;
}

}  // namespace skiff::cli
