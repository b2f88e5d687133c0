// skiff report
#include <memory>

#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/number_checks.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/report_document.h"
#include "cli/table.h"
#include "emit/write_file.h"
#include "report/page.h"

namespace skiff::cli {
namespace {

constexpr const char* kReportFooter =
    "The page needs nothing but a browser, no network either. It shows the graph as it runs, with the time, "
    "the work and the delegate of every node, the arena over the run, shapes and plans. With SOURCE it also "
    "says which nodes of the source each node stands for, and how far each layer is from eager mode; a "
    "parity "
    "that fails is shown, and is no failure of this command.\n"
    "Examples:\n"
    "  skiff report mobilenet.skiff mobilenet.onnx -o report.html\n"
    "  skiff report new.skiff --against old.skiff -o compared.html\n"
    "  skiff report net.skiff net.onnx --backends xnnpack,vulkan -o backends.html";

void Report(const ReportArguments& arguments) {
  CommandFiles files;
  files.ReadsSource(arguments.source);
  files.Reads("the model", arguments.model);
  files.Reads("the model of --against", arguments.against);
  const std::string output = files.Writes("-o", arguments.output);
  std::vector<std::string> notes;
  std::vector<ReportSide> sides;
  {
    Progress progress(StepsOf(arguments));
    sides = CollectSides(
        arguments, files, [&](const std::string& step) { progress.Step(step); }, notes);
  }
  for (const std::string& note : notes) PrintNote(note);
  const Json document = ReportDocument(sides);
  if (!output.empty()) {
    const std::string page = ReportPage(document.dump(-1, ' ', false, Json::error_handler_t::replace));
    WriteFileAtomically(output, {page.begin(), page.end()});
    if (!arguments.json) Print("{}: {} bytes\n", output, Grouped(page.size()));
  }
  if (arguments.json) PrintJson(document);
}

}  // namespace

void AddReport(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("report", "Write a page that shows a .skiff model: graph, times, memory, errors");
  auto arguments = std::make_shared<ReportArguments>();
  command->add_option("model", arguments->model, "The model")->required()->type_name("MODEL.skiff");
  command
      ->add_option("source", arguments->source,
                   "What it was made from, .onnx or .tflite, to compare with and to tell what fused")
      ->type_name("SOURCE");
  command
      ->add_option(
          "-o,--output", arguments->output,
          "The page; an existing file is replaced whole or not at all. Needed unless --json is there")
      ->type_name("OUT.html");
  command->add_option("--against", arguments->against, "Another model, side by side with the first")
      ->type_name("OTHER.skiff");
  AddInputOptions(*command, arguments->inputs, "default random:1");
  AddSizesOptions(*command, arguments->dims, arguments->shapes);
  AddSessionOptions(*command, *arguments);
  command
      ->add_option("--backends", arguments->backends,
                   "Backends side by side, as --backend names them: xnnpack,reference")
      ->type_name("NAME,NAME")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes("--backend")
      ->check(BackendCheck());
  command
      ->add_option("--runs", arguments->runs,
                   "Timed runs, and as many again with a clock at each node (default 20; 2 of the reference)")
      ->type_name("N")
      ->check(WholeBetween(1, 1000000));
  AddJsonOption(*command, arguments->json);
  command->footer(kReportFooter);
  command->callback([arguments] {
    if (arguments->output.empty() && !arguments->json)
      throw CLI::ValidationError("-o", "is missing: the page to write, as in -o report.html");
    Report(*arguments);
  });
}

}  // namespace skiff::cli
