// skiff parity
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/convert_options.h"
#include "cli/input_files.h"
#include "cli/parity_report.h"
#include "cli/parse_sizes.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "cli/sweep_report.h"
#include "cli/tool.h"
#include "graph/error.h"
#include "import/import_model.h"
#include "parity/sweep.h"
#include "run/model_sizes.h"

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
    "[0, 255), and integers of quantised inputs from all of their type; --input-range speaks of single "
    "inputs, for example\n"
    "mask=0..1. Dimensions that the source leaves open take the sizes of the tensors in the folder; with "
    "random inputs --at\n"
    "and --sweep choose them. Sizes that the source itself refuses are listed, and do not fail as long as "
    "the "
    "model refuses\n"
    "them as well. The exit code is 3 when parity fails. Examples:\n"
    "  skiff parity mobilenet.onnx mobilenet.skiff --inputs random:7 --layers\n"
    "  skiff parity resnet.onnx --inputs test_data_set_0 --expect test_data_set_0 --backend xnnpack\n"
    "  skiff parity bert.onnx --dim batch=1..8 --dim seq=1..512 --sweep";

constexpr const char* kDefaultInputs = "random:1";

struct Arguments : ConvertArguments {
  std::string source;
  std::string model;
  std::string inputs;
  std::string expected;
  std::vector<std::string> ranges;
  std::vector<std::string> backends;
  int threads = 0;
  int repeat = 1;
  std::optional<double> rtol;
  std::optional<double> atol;
  std::vector<std::string> at;
  bool sweep = false;
  bool layers = false;
  bool json = false;
};

/// --inputs, or what stands for it.
std::string InputsOf(const Arguments& arguments) {
  if (!arguments.inputs.empty()) return arguments.inputs;
  return arguments.expected.empty() ? kDefaultInputs : arguments.expected;
}

/// The sizes of the tensors in the folder for dimensions of which no option speaks.
void TakeSizesOf(const std::string& folder, const Graph& source, ConvertOptions& options) {
  const auto shapes = ReadShapes(folder, source.caller_inputs());
  for (const GraphPort& port : source.caller_inputs()) {
    const auto shape = shapes.find(port.name);
    if (shape == shapes.end() || options.shapes.contains(port.name)) continue;
    const std::vector<Dim>& dims = source.value(port.value).dims;
    for (size_t axis = 0; axis < std::min(dims.size(), shape->second.size()); ++axis) {
      if (dims[axis].constant()) continue;
      const std::string& name = source.symbols()[static_cast<size_t>(dims[axis].symbol())].name;
      options.dims.emplace(name, shape->second[axis]);
    }
  }
}

/// The source, at the sizes that the model is for, and the model: from its file, or converted here and now.
struct Prepared {
  Graph source;
  std::unique_ptr<OpenedModel> opened;
};

Prepared ConvertHere(const Arguments& arguments) {
  ConvertOptions options = ToConvertOptions(arguments);
  if (std::find(arguments.backends.begin(), arguments.backends.end(), "vulkan") != arguments.backends.end())
    options.targets = {Target::kVulkan};
  Prepared prepared;
  const auto fix = [&](Graph& source) {
    const std::string inputs = InputsOf(arguments);
    if (!source.symbols().empty() && !IsRandomSource(inputs)) TakeSizesOf(inputs, source, options);
    FixShapes(source, options);
  };
  prepared.source = ImportModel(arguments.source, {ToFixedInputs(arguments), fix});
  prepared.opened = std::make_unique<OpenedModel>(ConvertGraph(prepared.source, options)->file);
  return prepared;
}

Prepared Prepare(const Arguments& arguments) {
  if (arguments.model.empty()) return ConvertHere(arguments);
  Prepared prepared;
  prepared.opened = std::make_unique<OpenedModel>(arguments.model);
  const auto fix = [&](Graph& source) {
    try {
      FixToModel(source, prepared.opened->signature());
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", arguments.model, error.what()));
    }
  };
  prepared.source = ImportModel(arguments.source, {ToFixedInputs(arguments), fix});
  fix(prepared.source);  // Its outputs are there now.
  return prepared;
}

ParityOptions ToParityOptions(const Arguments& arguments) {
  ParityOptions options;
  if (!arguments.backends.empty()) {
    options.backends.clear();
    for (const std::string& name : arguments.backends) options.backends.push_back(BackendFromName(name));
  }
  options.threads = arguments.threads;
  options.repeat = arguments.repeat;
  if (arguments.rtol || arguments.atol)
    options.tolerance = Tolerance{.atol = arguments.atol.value_or(0), .rtol = arguments.rtol.value_or(0)};
  options.layers = arguments.layers;
  return options;
}

/// The calls: sizes of open dimensions, -1 where they follow from files or from the default.
std::vector<SymbolSizes> CallsOf(const Arguments& arguments, const Model& model) {
  std::vector<SymbolSizes> calls;
  for (const std::string& text : arguments.at) {
    NamedSizes named;
    ParseSizes("--at", text, named);
    calls.emplace_back(model).Set(named, "--at");
  }
  if (arguments.sweep) {
    for (const std::vector<int64_t>& sizes : SweepSizes(model)) calls.emplace_back(model).sizes = sizes;
  }
  if (calls.empty()) calls.emplace_back(model);
  return calls;
}

/// Files hold tensors of one size.
void CheckSizesFitFiles(const Arguments& arguments) {
  const bool files = !IsRandomSource(InputsOf(arguments)) || !arguments.expected.empty();
  if (files && (arguments.sweep || arguments.at.size() > 1)) {
    throw CLI::ValidationError(arguments.sweep ? "--sweep" : "--at",
                               "needs random inputs: the files of --inputs and --expect have one size");
  }
}

/// Random integers can be values that the model was not made for, at which small differences grow; "" where
/// there are none without a range.
std::string RandomInputsHint(const Model& model, const InputRanges& ranges) {
  const std::vector<std::string> names = InputsWithoutRule(model, ranges);
  if (names.empty()) return "";
  return fmt::format(
      "note: the elements of '{}' were random; if the model only takes some values, as a mask of 0 and 1 "
      "does, say so: "
      "--input-range '{}=0..1'\n",
      fmt::join(names, "', '"), names[0]);
}

int Parity(const Arguments& arguments) {
  const bool conversion_options = !arguments.shapes.empty() || !arguments.dims.empty() ||
                                  !arguments.buckets.empty() || arguments.no_xnnpack ||
                                  !arguments.disabled_passes.empty();
  if (!arguments.model.empty() && conversion_options) {
    throw CLI::ValidationError(
        "--shape, --dim, --bucket, --no-xnnpack, --disable-pass",
        "are only for a conversion here; MODEL.skiff has its own (sizes of a call: --at)");
  }
  CheckSizesFitFiles(arguments);
  const InputRanges ranges = ParseInputRanges(arguments.ranges);
  for (const std::string& text : arguments.at) {
    NamedSizes named;
    ParseSizes("--at", text, named);
  }
  ParityOptions options = ToParityOptions(arguments);
  Prepared prepared;
  std::vector<SizedReport> cases;
  {
    const bool sized = arguments.sweep || !arguments.at.empty();
    std::optional<Progress> progress(std::in_place, 2 + static_cast<int>(options.backends.size()));
    progress->Step(arguments.model.empty() ? "import and convert" : "import");
    prepared = Prepare(arguments);
    OpenedModel* opened = prepared.opened.get();
    const std::vector<SymbolSizes> calls = CallsOf(arguments, opened->model());
    if (sized) progress.emplace(static_cast<int>(calls.size() * (1 + options.backends.size())));
    options.note_refusals = sized;
    std::string where;
    options.progress = [&](const std::string& step) { progress->Step(where + step); };
    ParityChecker checker(prepared.source, opened->model(), options);
    for (const SymbolSizes& call : calls) {
      const NamedTensors inputs = ReadInputSource(InputsOf(arguments), opened->model(), call, ranges);
      SizedReport& one = cases.emplace_back();
      one.sizes = SizesOf(opened->model(), inputs);
      const std::string at = SizesText(call.symbols, one.sizes);
      if (sized) where = at + " ";
      NamedTensors expected;
      if (!arguments.expected.empty())
        expected = ReadOutputFolder(arguments.expected, opened->signature().outputs, call);
      one.report = AtSizes(at, "--at", [&] { return checker.Check(inputs, expected); });
    }
  }
  const Model& model = prepared.opened->model();
  if (arguments.sweep || !arguments.at.empty()) {
    fmt::print("{}", arguments.json ? SweepJson(model, cases).dump(2) + "\n" : SweepText(model, cases));
    if (SweepOk(cases)) return kDone;
  } else {
    const ParityReport& report = cases[0].report;
    fmt::print("{}", arguments.json ? ParityJson(report).dump(2) + "\n" : ParityText(report));
    if (report.ok()) return kDone;
  }
  if (IsRandomSource(InputsOf(arguments))) fmt::print(stderr, "{}", RandomInputsHint(model, ranges));
  return kParityFailed;
}

}  // namespace

void AddParity(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("parity", "Prove that a converted model computes what its source computes");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("source", arguments->source, "The .onnx or .tflite model")
      ->required()
      ->type_name("SOURCE");
  command
      ->add_option("model", arguments->model,
                   "What was made from it; without it, the source is converted here and now")
      ->type_name("MODEL.skiff");
  command
      ->add_option("--inputs", arguments->inputs,
                   "Where the inputs come from (default: the folder of --expect, else random:1)")
      ->type_name("DIR|random:SEED[:LOW..HIGH]");
  AddInputRangeOption(*command, arguments->ranges);
  command
      ->add_option("--expect", arguments->expected,
                   "Folder with outputs of the original framework, compared as well")
      ->type_name("DIR");
  command
      ->add_option("--backend", arguments->backends,
                   "xnnpack, vulkan or reference; repeatable (default: xnnpack and reference)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->check(BackendCheck());
  command
      ->add_option("--repeat", arguments->repeat,
                   "Run each backend so often, and fail where two runs differ in a bit (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  AddThreadsOption(*command, arguments->threads);
  AddCpuOption(*command);
  command->add_option("--rtol", arguments->rtol, "Tolerance relative to each expected element")
      ->type_name("R")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--atol", arguments->atol, "Absolute tolerance")
      ->type_name("A")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--layers", arguments->layers,
                    "Compare every tensor of the source that the plan still has");
  command
      ->add_option(
          "--at", arguments->at,
          "Sizes of open dimensions to compare at; repeatable (default: the largest of the contract, "
          "or 7 where it has no end)")
      ->type_name("NAME=SIZE,...")
      ->allow_extra_args(false);
  command->add_flag("--sweep", arguments->sweep,
                    "Compare at the edges of every plan: each open dimension at min, min+1, an odd size "
                    "inside, max-1, max, and at 0 and 1 where they are allowed");
  command->add_flag("--json", arguments->json, "Print JSON");
  AddPlanOptions(*command, *arguments);
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = Parity(*arguments); });
}

}  // namespace skiff::cli
