#include "cli/quantize_source.h"

#include <filesystem>

#include "cli/calibration_inputs.h"
#include "cli/quantize_page.h"
#include "cli/table.h"
#include "graph/error.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

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
std::vector<NamedTensors> ReadCalls(const QuantizeArguments& arguments, const QuantizeWork& work,
                                    const std::shared_ptr<OpenedModel>& floats) {
  if (work.calls && !arguments.input_ranges.empty())
    Throw(StatusCode::kInvalidArgument, "--input-range {}: is for random inputs, and others were given",
          arguments.input_ranges[0]);
  if (work.calls) return work.calls(floats);
  if (arguments.calibrate.empty()) return {};
  const ModelSignature signature(floats->model());
  return ReadCalibration(arguments.calibrate, signature, SymbolSizes(signature),
                         ParseInputRanges(arguments.input_ranges), arguments.samples, work.progress);
}

/// How errors are measured, for people and reports.
std::string MeasureOf(const QuantizeArguments& arguments, const QuantizeWork& work) {
  return arguments.score.empty() && !work.score ? arguments.measure : "score";
}

void State(const QuantizeArguments& arguments, const std::string& measure, size_t calls,
           const std::optional<double>& error, Graph& graph) {
  const auto state = [&](const char* key, const std::string& value) {
    graph.stated.emplace_back(std::string("quantize:") + key, value);
  };
  state("format", arguments.format);
  if (calls > 0) state("calls", fmt::format("{}", calls));
  if (IsDrawn(arguments.calibrate)) state("calibrated", "random");
  if (RoundsValues(*FormatFromName(arguments.format))) state("ranges", arguments.ranges);
  if (!arguments.keep.empty()) state("keep", fmt::format("{}", fmt::join(arguments.keep, " ")));
  if (error) state("error", fmt::format("{} {:.3g}", measure, *error));
}

/// Told to the options; they point to `candidates`, `arguments` and `work`.
void MeasureCandidates(const QuantizeArguments& arguments, const QuantizeWork& work,
                       const Candidates& candidates, size_t calls, QuantizeOptions& options) {
  options.bytes_of = [&, calls](const Graph& graph) {
    constexpr double kLongError = -1.23e-100;  // What the file will say is not known yet, and not longer.
    Graph stated = graph;
    State(arguments, MeasureOf(arguments, work), calls, kLongError, stated);
    return candidates.File(stated).size();
  };
  options.milliseconds_of = [&](const Graph& graph) {
    return candidates.Milliseconds(graph, arguments.threads);
  };
  if (work.score) {
    options.score_of = [&](const Graph& graph) { return work.score(candidates.File(graph)); };
  } else if (!arguments.score.empty()) {
    options.score_of = [&](const Graph& graph) { return candidates.Score(graph, arguments.score); };
  }
}

/// Each budget that is not kept, as a sentence.
std::vector<std::string> Beyond(const QuantizeArguments& arguments, const Quantized& quantized) {
  const BudgetCost& cost = quantized.result.cost;
  std::vector<std::string> beyond;
  if (arguments.max_error && !(*cost.error <= *arguments.max_error))
    beyond.push_back(fmt::format("the error is {:.3g} ({}), beyond --max-error {}", *cost.error,
                                 quantized.measure, *arguments.max_error));
  if (arguments.max_bytes && quantized.sizes.behind > *arguments.max_bytes)
    beyond.push_back(fmt::format("the file has {} bytes, beyond --max-bytes {}",
                                 Grouped(quantized.sizes.behind), Grouped(*arguments.max_bytes)));
  if (arguments.max_ms && cost.milliseconds && *cost.milliseconds > *arguments.max_ms)
    beyond.push_back(fmt::format("a run takes {:.3g} ms on this machine, beyond --max-ms {}",
                                 *cost.milliseconds, *arguments.max_ms));
  return beyond;
}

void CheckTogether(const QuantizeArguments& arguments, const QuantizeWork& work) {
  const std::pair<const char*, bool> need_inputs[] = {
      {"--max-error", arguments.max_error.has_value()},
      {"--max-bytes", arguments.max_bytes.has_value()},
      {"--max-ms", arguments.max_ms.has_value()},
      {"--report", !arguments.report.empty() || work.measure_layers}};
  for (const auto& [option, given] : need_inputs) {
    if (given && arguments.calibrate.empty() && !work.calls)
      throw CLI::ValidationError(option, "needs inputs to measure with; say --calibrate FOLDER");
  }
  if (!arguments.score.empty() && arguments.score.find(kCandidate) == std::string::npos)
    throw CLI::ValidationError(
        "--score", "expected a command with {} where the candidate's file goes, for example 'eval.py {}'");
}

/// What was done, for the top of the report.
std::vector<std::pair<std::string, std::string>> Facts(const Quantized& quantized, const std::string& source,
                                                       const std::string& file) {
  std::vector<std::pair<std::string, std::string>> facts = {{"source", source}, {"file", file}};
  for (const auto& [key, value] : quantized.result.graph.stated) {
    constexpr std::string_view kOwn = "quantize:";
    if (key.starts_with(kOwn)) facts.emplace_back(key.substr(kOwn.size()), value);
  }
  facts.emplace_back("bytes", fmt::format("{} as floats, {} now: {}", Grouped(quantized.sizes.before),
                                          Grouped(quantized.sizes.behind), ShrunkText(quantized.sizes)));
  return facts;
}

}  // namespace

Quantized Quantize(const QuantizeArguments& arguments, const QuantizeWork& work) {
  CheckTogether(arguments, work);
  const auto step = [&](const std::string& name) {
    if (work.progress) work.progress(name);
  };
  QuantizeOptions options = ToQuantizeOptions(arguments);
  options.progress = work.progress;
  options.measure_layers |= work.measure_layers;
  step("import");
  NamedGraph graph = ImportOne(arguments, work.convert);
  Quantized quantized;
  quantized.measure = MeasureOf(arguments, work);
  std::vector<NamedTensors> calls;
  {
    step("convert the float net");
    std::vector<NamedGraph> floats;
    floats.push_back(graph);
    const std::unique_ptr<ConvertedFile> file = ConvertGraphs(std::move(floats), work.convert);
    quantized.sizes.before = file->file.size();
    const auto opened = std::make_shared<OpenedModel>(file->file);
    step("read inputs");
    calls = ReadCalls(arguments, work, opened);
  }
  const Candidates candidates(graph.name, work.convert, work.place,
                              calls.empty() ? NamedTensors() : calls[0]);
  MeasureCandidates(arguments, work, candidates, calls.size(), options);
  quantized.result = QuantizeGraph(std::move(graph.graph), calls, options);
  State(arguments, quantized.measure, calls.size(), quantized.result.cost.error, quantized.result.graph);
  std::vector<NamedGraph> graphs;
  graphs.push_back({graph.name, quantized.result.graph});
  ConvertOptions writing = work.convert;
  writing.progress = work.progress;
  quantized.file = work.output.empty() ? ConvertGraphs(std::move(graphs), writing)
                                       : ConvertGraphsTo(std::move(graphs), work.output, writing);
  quantized.sizes.behind =
      work.output.empty() ? quantized.file->file.size() : std::filesystem::file_size(work.output);
  quantized.beyond = Beyond(arguments, quantized);
  return quantized;
}

std::string QuantizePage(const QuantizeArguments& arguments, const Quantized& quantized,
                         const std::string& source, const std::string& file) {
  return QuantizePage(
      fmt::format("{} as {}", std::filesystem::path(source).filename().string(), arguments.format),
      Facts(quantized, source, file), quantized.result, arguments.measure, quantized.measure);
}

}  // namespace skiff::cli
