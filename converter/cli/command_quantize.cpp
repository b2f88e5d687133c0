// skiff quantize
#include <filesystem>
#include <memory>

#include "cli/calibration_inputs.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/quantize_options.h"
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

constexpr const char* kFooter =
    "The net is optimised as by 'skiff convert', runs on the inputs of --calibrate, and is rounded by what "
    "was "
    "seen: products, and what lies between them, compute on integers; its inputs and outputs stay floats. "
    "'skiff parity IN OUT.skiff --max-error 0.1' compares the two afterwards.\n"
    "Example, a classifier of photographs:\n"
    "  skiff quantize mobilenet.onnx -o mobilenet_i8.skiff --calibrate photos/ \\\n"
    "    --image-size 224x224 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225";

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

void State(const QuantizeArguments& arguments, size_t calls, QuantizeResult& result) {
  const auto state = [&](const char* key, const std::string& value) {
    result.graph.stated.emplace_back(std::string("quantize:") + key, value);
  };
  state("format", arguments.format);
  if (calls > 0) state("calls", fmt::format("{}", calls));
  if (IsDrawn(arguments.calibrate)) state("calibrated", "random");
  if (RoundsValues(*FormatFromName(arguments.format))) state("ranges", arguments.ranges);
  if (!arguments.keep.empty()) state("keep", fmt::format("{}", fmt::join(arguments.keep, " ")));
  if (result.error) state("error", fmt::format("{} {:.3g}", arguments.measure, *result.error));
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
  const ConvertOptions convert = ToConvertOptions(arguments);
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
  written.result = QuantizeGraph(std::move(graph.graph), calls, options);
  State(arguments, calls.size(), written.result);
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
      Facts(arguments, written), written.result, arguments.measure);
  WriteFileAtomically(path, {page.begin(), page.end()});
}

int Quantize(const QuantizeArguments& arguments) {
  CheckSource(arguments);
  const std::string output = CheckOutputFile(arguments.output);
  const std::string report = arguments.report.empty() ? "" : CheckOutputFile(arguments.report);
  if (arguments.calibrate.empty() && (arguments.max_error || !report.empty()))
    throw CLI::ValidationError(arguments.max_error ? "--max-error" : "--report",
                               "needs inputs to measure with; say --calibrate FOLDER");
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
  const int code = written.result.within_budget ? kDone : kBeyondBudget;
  if (code != kDone)
    fmt::print(stderr, "skiff: the error is {:.3g} ({}), beyond --max-error {}\n", *written.result.error,
               arguments.measure, *arguments.max_error);
  if (arguments.json) {
    Json json = QuantizeJson(written.result, written.sizes, arguments.measure);
    json["source"] = arguments.source;
    json["file"] = output;
    PrintJson(JsonDocument("quantize", json));
    return code;
  }
  fmt::print("{}", QuantizeText(written.result, written.sizes, arguments.measure));
  fmt::print("{}", ConversionSummary(output, *written.file, times, {}));
  return code;
}

}  // namespace

void AddQuantize(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "quantize", "Turn a float .onnx or .tflite model into a smaller, faster .skiff file of integers");
  auto arguments = std::make_shared<QuantizeArguments>();
  AddQuantizeOptions(*command, *arguments);
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = Quantize(*arguments); });
}

}  // namespace skiff::cli
