// skiff parity
#include <memory>

#include "cli/commands.h"
#include "cli/convert_options.h"
#include "cli/input_files.h"
#include "cli/parity_report.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "cli/tool.h"
#include "graph/error.h"
#include "import/onnx.h"

namespace skiff::cli {
namespace {

constexpr const char* kFooter =
    "The source runs eagerly, operator by operator; the model's plan runs on each backend. Outputs of float "
    "nets may differ by\n"
    "2e-5 of the largest element (1e-2 where f16 takes part), integers not at all; NaN and infinities must "
    "agree. With\n"
    "--rtol or --atol an element may differ by atol + rtol * |expected| instead.\n"
    "A folder of inputs holds, for each input, input_NAME or NAME or input_0, input_1, ... as .npy, .pb "
    "(ONNX test sets) or\n"
    ".bin; a folder of expected outputs likewise output_.... random:SEED draws reals from [-1, 1), "
    "random:SEED:0..255 from\n"
    "[0, 255). Dimensions that the source leaves open take the sizes of the tensors in the folder.\n"
    "The exit code is 3 when parity fails. Examples:\n"
    "  skiff parity mobilenet.onnx mobilenet.skiff --inputs random:7 --layers\n"
    "  skiff parity resnet.onnx --inputs test_data_set_0 --expect test_data_set_0 --backend xnnpack";

constexpr const char* kDefaultInputs = "random:1";

struct Arguments : ConvertArguments {
  std::string source;
  std::string model;
  std::string inputs;
  std::string expected;
  std::vector<std::string> backends;
  int threads = 0;
  std::optional<double> rtol;
  std::optional<double> atol;
  bool layers = false;
  bool json = false;
};

/// --inputs, or what stands for it.
std::string InputsOf(const Arguments& arguments) {
  if (!arguments.inputs.empty()) return arguments.inputs;
  return arguments.expected.empty() ? kDefaultInputs : arguments.expected;
}

/// The model: from its file, or converted here and now.
std::unique_ptr<OpenedModel> Prepare(const Arguments& arguments, Graph& source) {
  if (arguments.model.empty()) {
    ConvertOptions options = ToConvertOptions(arguments);
    const std::string inputs = InputsOf(arguments);
    if (!source.symbols().empty() && !IsRandomSource(inputs))
      options.shapes.merge(ReadShapes(inputs, source.inputs()));
    FixShapes(source, options);
    return std::make_unique<OpenedModel>(ConvertGraph(source, options)->file);
  }
  auto opened = std::make_unique<OpenedModel>(arguments.model);
  try {
    FixToModel(source, opened->signature());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} and {}: {}", arguments.source, arguments.model, error.what()));
  }
  return opened;
}

int Parity(const Arguments& arguments) {
  const bool conversion_options = !arguments.shapes.empty() || !arguments.dims.empty() ||
                                  arguments.no_xnnpack || !arguments.disabled_passes.empty();
  if (!arguments.model.empty() && conversion_options) {
    throw CLI::ValidationError("--shape, --dim, --no-xnnpack, --disable-pass",
                               "are only for a conversion here; MODEL.skiff has its own");
  }
  ParityRequest request;
  ParityReport report;
  {
    Progress progress(2 + static_cast<int>(arguments.backends.empty() ? request.backends.size()
                                                                      : arguments.backends.size()));
    progress.Step(arguments.model.empty() ? "import and convert" : "import");
    Graph source = ImportOnnx(arguments.source);
    const std::unique_ptr<OpenedModel> opened = Prepare(arguments, source);
    request.inputs = ReadInputSource(InputsOf(arguments), opened->model(), SymbolSizes(opened->model()));
    if (!arguments.expected.empty())
      request.expected = ReadOutputFolder(arguments.expected, opened->signature().outputs);
    if (!arguments.backends.empty()) {
      request.backends.clear();
      for (const std::string& name : arguments.backends) request.backends.push_back(BackendFromName(name));
    }
    request.threads = arguments.threads;
    if (arguments.rtol || arguments.atol) {
      request.tolerance = Tolerance{.atol = arguments.atol.value_or(0), .rtol = arguments.rtol.value_or(0)};
    }
    request.layers = arguments.layers;
    request.progress = [&](const std::string& step) { progress.Step(step); };
    report = CheckParity(source, opened->model(), request);
  }
  fmt::print("{}", arguments.json ? ParityJson(report).dump(2) + "\n" : ParityText(report));
  return report.ok() ? kDone : kParityFailed;
}

}  // namespace

void AddParity(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("parity", "Prove that a converted model computes what its source computes");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("source", arguments->source, "The .onnx model")->required()->type_name("SOURCE.onnx");
  command
      ->add_option("model", arguments->model,
                   "What was made from it; without it, the source is converted here and now")
      ->type_name("MODEL.skiff");
  command
      ->add_option("--inputs", arguments->inputs,
                   "Where the inputs come from (default: the folder of --expect, else random:1)")
      ->type_name("DIR|random:SEED[:LOW..HIGH]");
  command
      ->add_option("--expect", arguments->expected,
                   "Folder with outputs of the original framework, compared as well")
      ->type_name("DIR");
  command->add_option("--backend", arguments->backends, "xnnpack or reference; repeatable (default: both)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"xnnpack", "reference"}));
  AddThreadsOption(*command, arguments->threads);
  command->add_option("--rtol", arguments->rtol, "Tolerance relative to each expected element")
      ->type_name("R")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--atol", arguments->atol, "Absolute tolerance")
      ->type_name("A")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--layers", arguments->layers,
                    "Compare every tensor of the source that the plan still has");
  command->add_flag("--json", arguments->json, "Print JSON");
  AddPlanOptions(*command, *arguments);
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = Parity(*arguments); });
}

}  // namespace skiff::cli
