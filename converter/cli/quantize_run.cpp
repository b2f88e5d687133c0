#include "cli/quantize_run.h"

#include <unistd.h>

#include "cli/calibration_inputs.h"
#include "cli/command_files.h"
#include "cli/json.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/quantize_source.h"
#include "cli/session_options.h"
#include "cli/summary.h"
#include "cli/terminal.h"
#include "cli/tool.h"
#include "emit/write_file.h"
#include "graph/error.h"

namespace skiff::cli {
namespace {

constexpr int kQuantizeSteps = 12;

Quantized QuantizeAndWrite(const QuantizeArguments& arguments, const std::string& output, StepTimes& times) {
  Progress progress(kQuantizeSteps);
  QuantizeWork work;
  work.convert = ToConvertOptions(arguments);
  if (arguments.target == "vulkan") work.convert.targets = {Target::kVulkan};
  work.output = work.place = output;
  work.progress = [&](const std::string& name) {
    times.Begin(name.substr(0, name.find(',')));
    progress.Step(name);
  };
  Quantized quantized = Quantize(arguments, work);
  times.End();
  return quantized;
}

}  // namespace

int RunQuantize(const QuantizeArguments& arguments) {
  CommandFiles files;
  files.ReadsSource(arguments.source);
  files.Reads("the file of --labels", arguments.labels);
  files.ReadsCalibration(arguments.calibrate);
  const std::string output = files.Writes("-o", arguments.output);
  const std::string report = files.Writes("--report", arguments.report);
  if (!arguments.score.empty()) {
    files.Writes("--score", CandidateFile(output));
    CheckNoCandidate(output);
  }
  if (IsDrawn(arguments.calibrate)) PrintNote(kDrawnNote);
  StepTimes times;
  const Quantized quantized = QuantizeAndWrite(arguments, output, times);
  for (const std::string& sentence : quantized.result.graph.left_out)
    Print(stderr, "note: {}: {}\n", arguments.source, sentence);
  for (const std::string& note : quantized.result.notes) Print(stderr, "note: {}\n", note);
  if (!report.empty()) {
    const std::string page = QuantizePage(arguments, quantized, arguments.source, arguments.output);
    WriteFileAtomically(report, {page.begin(), page.end()});
  }
  for (const std::string& sentence : quantized.beyond) Print(stderr, "skiff: {}\n", sentence);
  const int code = quantized.beyond.empty() ? kDone : kBeyondBudget;
  if (arguments.json) {
    Json json = QuantizeJson(quantized.result, quantized.sizes, quantized.measure);
    json["source"] = arguments.source;
    json["file"] = output;
    PrintJson(JsonDocument("quantize", json));
    return code;
  }
  for (const auto& signature : quantized.file->signatures) {
    if (arguments.explain) Print("{}\n", Wrapped(Explain(*signature), TextWidth(STDOUT_FILENO), 4));
  }
  Print("{}", QuantizeText(quantized.result, quantized.sizes, quantized.measure));
  Print("{}", ConversionSummary(output, *quantized.file, times, {}));
  return code;
}

}  // namespace skiff::cli
