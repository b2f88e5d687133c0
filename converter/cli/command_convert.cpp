// skiff convert
#include <unistd.h>

#include <memory>

#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/quantize_options.h"
#include "cli/quantize_run.h"
#include "cli/session_options.h"
#include "cli/summary.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

constexpr const char* kConvertFooter =
    "Example, a classifier of photographs with its preprocessing and class names:\n"
    "  skiff convert mobilenet.onnx -o mobilenet.skiff --shape image=1x3x224x224 \\\n"
    "    --image-size 224x224 --fit crop --resize 256 \\\n"
    "    --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --labels imagenet.txt";

constexpr int kConvertSteps = 5;

void PrintPasses() {
  Table table({{"pass"}, {"can be disabled"}, {"purpose"}});
  for (const Pass& pass : Pipeline()) table.Add({pass.name, pass.required ? "no" : "yes", pass.purpose});
  Print("{}", table.ToString());
}

void Convert(const QuantizeArguments& arguments) {
  ConvertOptions options = ToConvertOptions(arguments);
  if (arguments.target == "vulkan") options.targets = {Target::kVulkan};
  CommandFiles files;
  files.ReadsSource(arguments.source);
  files.Reads("the file of --labels", arguments.labels);
  const std::string output = files.Writes("-o", arguments.output);
  StepTimes times;
  std::vector<std::pair<std::string, double>> pass_ms;
  std::unique_ptr<ConvertedFile> result;
  {
    Progress progress(kConvertSteps);
    options.progress = [&](const std::string& step) {
      times.Begin(step);
      progress.Step(step);
    };
    options.pipeline.timings_ms = &pass_ms;
    result = ConvertFileTo(arguments.source, output, options);
    times.End();
  }
  const Remarks remarks = RemarksOn(*result);
  for (const std::string& note : remarks.notes) Print(stderr, "note: {}: {}\n", arguments.source, note);
  for (const std::string& hint : remarks.hints) Print(stderr, "hint: {}\n", hint);
  if (arguments.json) {
    Json json = ConversionJson(arguments.output, *result, times, pass_ms);
    json["source"] = arguments.source;
    json["notes"] = remarks.notes;
    json["hints"] = remarks.hints;
    return PrintJson(JsonDocument("convert", json));
  }
  for (const auto& signature : result->signatures) {
    if (!arguments.explain) break;
    const std::string of = result->signatures.size() == 1 ? "" : SignatureText(signature->name) + ":\n";
    Print("{}{}\n", of, Wrapped(Explain(*signature), TextWidth(STDOUT_FILENO), 4));
  }
  if (const std::string said = NormalisationText(arguments.image); !said.empty()) Print("{}\n", said);
  Print("{}", ConversionSummary(arguments.output, *result, times, pass_ms));
}

}  // namespace

void AddConvert(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("convert", "Turn a trained .onnx or .tflite model into a .skiff file");
  auto arguments = std::make_shared<QuantizeArguments>();
  command
      ->add_option("source", arguments->source,
                   "The .onnx or .tflite model; external tensor data of .onnx may lie in its own folder")
      ->required()
      ->type_name("IN");
  command
      ->add_option("-o,--output", arguments->output,
                   "The file to write; an existing one is replaced whole or not at all")
      ->required()
      ->type_name("OUT.skiff");
  AddPlanOptions(*command, *arguments);
  AddFileOptions(*command, *arguments);
  AddQuantizeStep(*command, *arguments);
  command
      ->add_option("--target", arguments->target,
                   "What the plans are for: cpu (default), or vulkan: a plan for the GPU beside each one for "
                   "the CPU, which runs where there is no GPU")
      ->type_name("TARGET")
      ->check(CLI::IsMember({"cpu", "vulkan"}));
  command->add_flag("--explain", arguments->explain, "Say for each source node what became of it");
  AddJsonOption(*command, arguments->json);
  command->add_flag_callback(
      "--list-passes",
      [] {
        PrintPasses();
        throw CLI::Success();
      },
      "Print the optimisations in their order, and stop");
  command->footer(kConvertFooter);
  command->callback([command, arguments, &exit_code] {
    if (arguments->format.empty()) return Convert(*arguments);
    CheckQuantizeOptions(*command, *arguments);
    exit_code = RunQuantize(*arguments);
  });
}

}  // namespace skiff::cli
