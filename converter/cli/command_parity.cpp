// skiff parity
#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/json.h"
#include "cli/number_checks.h"
#include "cli/output_files.h"
#include "cli/parity_calls.h"
#include "cli/parity_pairs.h"
#include "cli/parity_report.h"
#include "cli/parse_sizes.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "cli/sweep_report.h"
#include "cli/terminal.h"
#include "cli/tool.h"
#include "files/output_path.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "import/import_model.h"
#include "run/model_sizes.h"
#include "run/onnxruntime.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

constexpr const char* kParityFooter =
    "The source runs eagerly, operator by operator; the model's plan runs on each backend. Outputs of float "
    "nets may differ by what rounding costs this net, which is measured where they differ by more than 1e-6 "
    "of the largest element (docs/numerics.md; 1e-2 where f16 takes part), integers only where rounded reals "
    "decide them; NaN and "
    "infinities must agree. With --rtol or --atol an element may differ by atol + rtol * |expected| "
    "instead.\n"
    "A folder of inputs holds, for each input, input_NAME or NAME or input_0, input_1, ... as .npy, .pb "
    "(ONNX "
    "test sets) or .bin; a folder of expected outputs likewise output_.... random:SEED draws reals from "
    "[-1, 1), or samples of pictures where the file says how these become inputs; random:SEED:0..255 reals "
    "from [0, 255). Integers of quantised inputs are drawn from all of their type; --input-range speaks of "
    "single inputs, for example mask=0..1.\n"
    "Dimensions that the source leaves open take the sizes of the tensors in the files; with random inputs "
    "--at and --sweep choose them. Sizes that the source itself refuses are listed, and do not fail as long "
    "as "
    "the model refuses them as well. Of a file with several signatures each is compared, unless --signature "
    "chooses. The exit code is 3 when parity fails, and 4 when a quantised model is beyond --max-error.\n"
    "Examples:\n"
    "  skiff parity mobilenet.onnx mobilenet.skiff --inputs random:7 --layers\n"
    "  skiff parity resnet.onnx --inputs test_data_set_0 --expect test_data_set_0 --backend xnnpack\n"
    "  skiff parity mobilenet.onnx mobilenet_i8.skiff --inputs photo/ --max-error 0.1\n"
    "  skiff parity bert.onnx --dim batch=1..8 --dim seq=1..512 --sweep";

ParityOptions ToParityOptions(const ParityArguments& arguments) {
  ParityOptions options;
  if (!arguments.backends.empty()) {
    options.backends.clear();
    for (const std::string& name : arguments.backends) options.backends.push_back(BackendFromName(name));
  }
  options.threads = arguments.threads;
  options.repeat = arguments.repeat;
  if (arguments.rtol || arguments.atol)
    options.tolerance = Tolerance{.atol = arguments.atol.value_or(0), .rtol = arguments.rtol.value_or(0)};
  if (arguments.max_error) options.tolerance = Tolerance{.of_largest = *arguments.max_error};
  options.layers = arguments.layers;
  return options;
}

/// Files hold tensors of one size.
void CheckSizesFitFiles(const ParityArguments& arguments) {
  if (ReadsFiles(arguments) && (arguments.sweep || arguments.at.size() > 1)) {
    throw CLI::ValidationError(
        arguments.sweep ? "--sweep" : "--at",
        "needs random inputs: the files of --input, --inputs and --expect have one size");
  }
}

bool IsSizedAtSeveral(const ParityArguments& arguments) { return arguments.sweep || arguments.at.size() > 1; }

/// Random integers can be values that the model was not made for, at which small differences grow; "" where
/// there are none without a range.
std::string RandomInputsHint(const ModelSignature& signature, const InputRanges& ranges) {
  const std::vector<std::string> names = InputsWithoutRule(signature, ranges);
  if (names.empty()) return "";
  return fmt::format(
      "note: the elements of '{}' were random; if the model only takes some values, as a mask of 0 and 1 "
      "does, say so: "
      "--input-range '{}=0..1'\n",
      fmt::join(names, "', '"), names[0]);
}

/// "" for a model that was not quantised by the converter.
std::string QuantizedHint(const ParityArguments& arguments, const Model& model) {
  if (arguments.max_error || arguments.rtol || arguments.atol) return "";
  std::string format;
  std::string error;
  for (const MetadataEntry& entry : model.data().metadata) {
    if (std::string_view(entry.key) == "quantize:format") format = entry.value;
    if (std::string_view(entry.key) == "quantize:error")
      error = fmt::format(" (measured then: {})", entry.value);
  }
  if (format.empty()) return "";
  return fmt::format(
      "hint: the model was quantised ({}){}; --max-error 0.1 allows a tenth of each output's largest "
      "element\n",
      format, error);
}

/// What became of one signature.
struct Checked {
  ModelSignature signature;
  std::string name;
  InputRanges ranges;
  std::vector<SizedReport> cases;
  std::string note;  ///< Which sizes were chosen.
};

bool IsSized(const ParityArguments& arguments) {
  return arguments.sweep || !arguments.at.empty() || arguments.steps > 1;
}

bool IsOk(const ParityArguments& arguments, const Checked& checked) {
  return IsSized(arguments) ? SweepOk(checked.cases) : checked.cases[0].report.ok();
}

NamedTensors ExpectedOf(const ParityArguments& arguments, const ParityChecker& checker,
                        const ModelSignature& signature, const SymbolSizes& call,
                        const NamedTensors& inputs) {
  if (arguments.expected.empty()) return {};
  if (ExpectsFramework(arguments))
    return RunOnnxruntime(arguments.source, checker.WithState(inputs), ToFixedInputs(arguments));
  return ReadOutputFolder(arguments.expected, signature.info().outputs, call);
}

/// Of a call's outputs: DIR/, below which there are folders for signatures, sizes and runs where there are
/// several.
std::string FolderOf(const ParityArguments& arguments, const Model& model, const std::string& signature,
                     const std::string& sizes, int step) {
  std::string folder = arguments.output + "/";
  if (model.signature_count() > 1) folder += FileNameOf(signature) + "/";
  if (IsSized(arguments) && !sizes.empty()) folder += FileNameOf(sizes) + "/";
  if (step > 0) folder += fmt::format("run_{}/", step);
  return folder;
}

CommandFiles FilesOf(const ParityArguments& arguments, const ModelSignature& signature) {
  const SignatureInfo& ports = signature.info();
  CommandFiles files;
  files.ReadsSource(arguments.source);
  files.Reads("the model", arguments.model);
  files.ReadsInputs({arguments.inputs.files, InputsOf(arguments), {}}, ports.inputs);
  if (!arguments.expected.empty() && !ExpectsFramework(arguments))
    files.ReadsExpected(arguments.expected, ports.outputs);
  return files;
}

/// Of one call.
void AddOutputs(const ParityArguments& arguments, const ModelSignature& signature,
                const std::vector<RunsOn>& backends, const std::string& folder, CommandFiles& files) {
  // With the states, which it has behind its callers' outputs.
  const Span<const PortInfo> outputs{signature.data().outputs.data(), signature.data().outputs.size()};
  files.WritesInto("-o", arguments.output, NpyFilesOf(folder + "eager", outputs));
  for (const RunsOn& backend : backends)
    files.WritesInto("-o", arguments.output, NpyFilesOf(folder + BackendName(backend), outputs));
}

Checked CheckPair(const ParityArguments& arguments, const ParityPair& pair, OpenedModel& opened,
                  ParityOptions options, Checked checked, const std::vector<SymbolSizes>& calls,
                  Progress& progress) {
  std::string where;
  options.signature = pair.signature;
  options.note_refusals = IsSized(arguments);
  options.keep_state = arguments.steps > 1;
  options.progress = [&](const std::string& step) { progress.Step(where + step); };
  std::string folder;
  if (!arguments.output.empty()) {
    options.outputs = [&](const std::string& by, const NamedTensors& outputs) {
      PrepareOutputFolder(folder + by);
      WriteTensors(folder + by, outputs);
    };
  }
  CommandFiles files = FilesOf(arguments, checked.signature);
  ParityChecker checker(pair.source, opened.model(), options);
  const InputSources sources{arguments.inputs.files, InputsOf(arguments), checked.ranges};
  for (const SymbolSizes& call : calls) {
    for (int step = 0; step < arguments.steps; ++step) {
      const NamedTensors inputs = ReadCallInputs(sources, checked.signature, call, {kTellingSize, "--dim"},
                                                 &checked.note, static_cast<uint64_t>(step));
      SizedReport& one = checked.cases.emplace_back();
      one.sizes = SizesOf(checked.signature, inputs);
      if (arguments.steps > 1) one.step = step + 1;
      const std::string at = SizesText(call.symbols, one.sizes);
      if (IsSized(arguments)) where = at + " ";
      folder = FolderOf(arguments, opened.model(), checked.name, at, one.step);
      if (!arguments.output.empty())
        AddOutputs(arguments, checked.signature, options.backends, folder, files);
      if (ExpectsFramework(arguments)) progress.Step(where + kOnnxruntime);
      const NamedTensors expected = ExpectedOf(arguments, checker, checked.signature, call, inputs);
      one.report = AtSizes(at, "--at", [&] { return checker.Check(inputs, expected); });
    }
  }
  return checked;
}

/// Where the source refuses all sizes of a sweep: one outside of it that it takes, which is what exporters
/// write into a net in place of an open dimension. "" where none is found.
std::string TakenSizesHint(const Checked& checked) {
  const bool compared = std::any_of(checked.cases.begin(), checked.cases.end(),
                                    [](const SizedReport& one) { return one.report.refused.empty(); });
  if (compared) return "";
  try {
    const SymbolSizes open(checked.signature);
    const NamedTensors inputs = ReadCallInputs({{}, kDefaultInputs, checked.ranges}, checked.signature, open,
                                               {kTellingSize, "--dim"}, nullptr);
    return fmt::format(
        "hint: the net takes {}: its exporter has written that size into it. Export it with the dimension "
        "open, or convert it for this size\n",
        SizesText(open.symbols, SizesOf(checked.signature, inputs)));
  } catch (const Error&) {
    return "";
  }
}

std::vector<Checked> CheckAll(const ParityArguments& arguments, const InputRanges& ranges,
                              PreparedParity& prepared, const ParityOptions& options) {
  OpenedModel& opened = *prepared.opened;
  std::vector<Checked> all;
  std::vector<std::vector<SymbolSizes>> calls;
  std::set<std::string> dims;
  std::set<std::string> inputs;
  size_t steps = 0;
  for (const ParityPair& pair : prepared.pairs) {
    const ModelSignature signature(opened.model(), pair.signature);
    calls.push_back(CallsOf(arguments, signature, dims));
    steps += calls.back().size() * static_cast<size_t>(arguments.steps) * (3 + options.backends.size());
    all.push_back({signature, pair.name, RangesOf(ranges, signature, inputs), {}, ""});
  }
  if (opened.model().signature_count() > 1) CheckUsed(arguments, ranges, dims, inputs);
  Progress progress(static_cast<int>(steps));
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string where = all.size() == 1 ? "" : SignatureText(all[i].name);
    Within(where, [&] {
      all[i] =
          CheckPair(arguments, prepared.pairs[i], opened, options, std::move(all[i]), calls[i], progress);
    });
  }
  return all;
}

nlohmann::ordered_json ToJson(const ParityArguments& arguments, const Checked& checked) {
  return IsSized(arguments) ? SweepJson(checked.signature, checked.cases)
                            : ParityJson(checked.cases[0].report);
}

std::string ToText(const ParityArguments& arguments, const Checked& checked, const std::string& of) {
  return IsSized(arguments) ? SweepText(checked.signature, checked.cases, of)
                            : ParityText(checked.cases[0].report, of);
}

void PrintReport(const ParityArguments& arguments, const std::vector<Checked>& all, bool ok) {
  if (all.size() == 1) {
    if (arguments.json) return PrintJson(JsonDocument("parity", ToJson(arguments, all[0])));
    Print("{}", WithColouredVerdicts(ToText(arguments, all[0], "")));
    return;
  }
  nlohmann::ordered_json json = {{"ok", ok}, {"signatures", nlohmann::ordered_json::array()}};
  for (const Checked& checked : all) {
    const std::string of = SignatureText(checked.name);
    if (!arguments.json) {
      Print("{}{}\n{}", &checked == &all[0] ? "" : "\n", of,
            WithColouredVerdicts(ToText(arguments, checked, of)));
      continue;
    }
    nlohmann::ordered_json entry = {{"signature", checked.name}};
    entry.update(ToJson(arguments, checked));
    json["signatures"].push_back(std::move(entry));
  }
  if (arguments.json) PrintJson(JsonDocument("parity", json));
}

void CheckOrder(const ParityArguments& arguments) {
  const auto is_model = [](const std::string& path) {
    return LanguageOfModel(path) == std::string_view("Skiff model");
  };
  if (!arguments.model.empty() && is_model(arguments.source) && !is_model(arguments.model)) {
    throw CLI::ValidationError(
        "SOURCE MODEL", fmt::format("the source comes first: skiff parity {} {}", ShellWord(arguments.model),
                                    ShellWord(arguments.source)));
  }
}

int Parity(const ParityArguments& given) {
  ParityArguments arguments = given;
  const bool conversion_options = !arguments.buckets.empty() || arguments.copy_state ||
                                  arguments.no_xnnpack || !arguments.disabled_passes.empty();
  if (!arguments.model.empty() && conversion_options) {
    throw CLI::ValidationError(
        "--bucket, --copy-state, --no-xnnpack, --disable-pass",
        "are only for a conversion here; MODEL.skiff has its own (sizes of a call: --dim, --shape, --at)");
  }
  if (!arguments.model.empty() && arguments.sweep && !(arguments.dims.empty() && arguments.shapes.empty()))
    throw CLI::ValidationError("--sweep", "chooses the sizes of all calls; leave --dim and --shape out");
  if (arguments.model.empty() && !arguments.cache_folder.empty())
    throw CLI::ValidationError("--cache", "is for a MODEL.skiff; what is converted here is not kept");
  CheckSizesFitFiles(arguments);
  if (arguments.steps > 1 && (ReadsFiles(arguments) || IsSizedAtSeveral(arguments)))
    throw CLI::ValidationError("--steps", "needs random inputs, and one size: state has one course");
  const InputRanges ranges = ParseInputRanges(arguments.inputs.ranges);
  if (!arguments.output.empty()) PrepareOutputFolder(arguments.output);
  for (const std::string& text : arguments.at) {
    NamedSizes named;
    ParseSizes("--at", text, named);
  }
  if (arguments.max_error && (arguments.rtol || arguments.atol))
    throw CLI::ValidationError("--max-error", "is instead of --rtol and --atol; choose one");
  CheckOrder(arguments);
  const ParityOptions options = ToParityOptions(arguments);
  PreparedParity prepared;
  {
    Progress progress(1);
    progress.Step(arguments.model.empty() ? "import and convert" : "import");
    prepared = Prepare(arguments);
  }
  const std::vector<Checked> all = CheckAll(arguments, ranges, prepared, options);
  const bool ok =
      std::all_of(all.begin(), all.end(), [&](const Checked& checked) { return IsOk(arguments, checked); });
  for (const Checked& checked : all) PrintNote(checked.note);
  const std::string& inputs = arguments.inputs.others;
  if (arguments.expected.empty() && !inputs.empty() && HoldsOutputs(inputs, all[0].signature.info().outputs))
    Print(stderr, "hint: '{0}' holds outputs, too; --expect '{0}' compares with them\n", inputs);
  PrintReport(arguments, all, ok);
  if (ok) return kDone;
  Print(stderr, "{}", QuantizedHint(arguments, prepared.opened->model()));
  if (arguments.max_error) return kBeyondBudget;
  for (const Checked& checked : all) {
    if (arguments.sweep) Print(stderr, "{}", TakenSizesHint(checked));
    if (!IsOk(arguments, checked) && IsRandomSource(InputsOf(arguments)))
      Print(stderr, "{}", RandomInputsHint(checked.signature, checked.ranges));
  }
  return kParityFailed;
}

}  // namespace

void AddParity(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("parity", "Prove that a converted model computes what its source computes");
  auto arguments = std::make_shared<ParityArguments>();
  command->add_option("source", arguments->source, "The .onnx or .tflite model")
      ->required()
      ->type_name("SOURCE");
  command
      ->add_option("model", arguments->model,
                   "What was made from it; without it, the source is converted here and now")
      ->type_name("MODEL.skiff");
  AddInputOptions(*command, arguments->inputs, "default: the folder of --expect, else random:1");
  AddOutputOption(*command, arguments->output,
                  "what eager mode and each backend compute, below it in folders of their names");
  command
      ->add_option("--expect", arguments->expected,
                   "Folder with outputs of the original framework, compared as well; or 'onnxruntime', which "
                   "computes them now, where python3 has it")
      ->type_name("DIR|onnxruntime");
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
      ->check(WholeBetween(1, 1000000));
  command
      ->add_option(
          "--steps", arguments->steps,
          "Of a net with state: so many runs, each with other random inputs and the state that eager "
          "mode's last one left (default 1)")
      ->type_name("N")
      ->check(WholeBetween(1, 1000000));
  AddThreadsOption(*command, arguments->threads);
  AddCacheOption(*command, arguments->cache_folder);
  AddCpuOption(*command);
  command->add_option("--rtol", arguments->rtol, "Tolerance relative to each expected element")
      ->type_name("R")
      ->check(FromZero());
  command->add_option("--atol", arguments->atol, "Absolute tolerance")->type_name("A")->check(FromZero());
  command
      ->add_option(
          "--max-error", arguments->max_error,
          "Of a quantised model: what a difference may be, as a share of its tensor's largest element; "
          "the exit code is 4 where one is larger")
      ->type_name("E")
      ->check(FromZero());
  command->add_flag("--layers", arguments->layers,
                    "Compare every tensor of the source that the plan still has");
  command
      ->add_option(
          "--at", arguments->at,
          "Sizes of open dimensions to compare at; repeatable (default: the largest of the contract, "
          "or 7 where it has no end; where the net refuses these, 1 or the next that it takes)")
      ->type_name("NAME=SIZE,...")
      ->allow_extra_args(false);
  command->add_flag("--sweep", arguments->sweep,
                    "Compare at the edges of every plan: each open dimension at min, min+1, an odd size "
                    "inside, max-1, max, and at 0 and 1 where they are allowed");
  AddJsonOption(*command, arguments->json);
  AddPlanOptions(*command, *arguments);
  command->footer(kParityFooter);
  command->callback([arguments, &exit_code] { exit_code = Parity(*arguments); });
}

}  // namespace skiff::cli
