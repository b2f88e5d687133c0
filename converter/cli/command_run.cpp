// skiff run
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/number_checks.h"
#include "cli/output_files.h"
#include "cli/parse_sizes.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/run_report.h"
#include "cli/session_options.h"
#include "cli/table.h"
#include "core/platform.h"
#include "emit/write_file.h"
#include "files/image.h"
#include "files/output_path.h"
#include "files/tensor_files.h"
#include "graph/counted.h"
#include "graph/distinct_names.h"
#include "graph/must.h"
#include "run/model_sizes.h"

namespace skiff::cli {
namespace {

constexpr const char* kRunFooter =
    "Pictures (.jpg, .png) are resized and normalised as the model's image settings say; .npy and .pb carry "
    "their own type and shape; of an .npz each array is the input of its name; .bin holds raw little-endian "
    "elements: --dim or --shape says the sizes of open dimensions. Pictures and f32 become the integers of a "
    "quantised input. Of a quantised output the numbers are printed that its integers stand for; its file "
    "has "
    "the integers.\n"
    "Examples:\n"
    "  skiff run mobilenet.skiff --input image=dog.jpg --top 3 --output results\n"
    "  skiff run bert.skiff --input ids=ids.bin --dim seq=7";

struct RunArguments : SessionArguments {
  std::string model;
  InputArguments inputs;
  std::vector<std::string> dims;
  std::vector<std::string> shapes;
  std::string output;
  std::string dump_input;
  std::optional<size_t> top;
  bool json = false;
};

/// How the pictures that the model gets look, by file: of a batch NAME_0.png, NAME_1.png, ...; NAME_0_2.png
/// where NAME_0 is another input.
std::map<std::string, std::vector<uint8_t>> PicturesOf(const std::string& folder, Span<const PortInfo> ports,
                                                       const NamedTensors& inputs) {
  std::set<std::string> names;
  for (const auto& [name, input] : inputs) names.insert(name);
  const std::map<std::string, std::string> files = DistinctFileNames(names);
  std::map<std::string, std::vector<uint8_t>> pictures;
  DistinctNames distinct;
  for (const auto& [name, file] : files) distinct.Take(file);
  for (const PortInfo& port : ports) {
    if (port.image.width == 0) continue;
    const TensorData& input = inputs.at(port.name);
    // A file may have given other sizes, where they are open.
    const Shape& shape = input.shape();
    if (shape[port.image.nhwc ? 1 : 2] != port.image.height ||
        shape[port.image.nhwc ? 2 : 3] != port.image.width)
      continue;
    const std::string& file = files.at(port.name);
    if (shape[0] == 1)
      pictures[fmt::format("{}/{}.png", folder, file)] = EncodePng(PictureOf(input, port, 0));
    for (int64_t i = 0; shape[0] != 1 && i < shape[0]; ++i)
      pictures[fmt::format("{}/{}.png", folder, distinct.Take(fmt::format("{}_{}", file, i)))] =
          EncodePng(PictureOf(input, port, i));
  }
  return pictures;
}

/// What the model gets, and where that is a picture, how it looks.
void DumpInputs(const std::string& folder, Span<const PortInfo> ports, const NamedTensors& inputs,
                CommandFiles& files) {
  const std::map<std::string, std::vector<uint8_t>> pictures = PicturesOf(folder, ports, inputs);
  std::vector<std::string> written = NpyFilesOf(folder, ports);
  for (const auto& [file, bytes] : pictures) written.push_back(file);
  files.WritesInto("--dump-input", folder, written);
  PrepareOutputFolder(folder);
  WriteTensors(folder, inputs);
  for (const auto& [file, bytes] : pictures) WriteFileAtomically(file, bytes);
}

NamedTensors ReadInputs(const RunArguments& arguments, const ModelSignature& signature,
                        const SymbolSizes& sizes) {
  if (arguments.inputs.others.empty() && !arguments.inputs.ranges.empty())
    throw CLI::ValidationError("--input-range", "is for random inputs: --inputs random:SEED");
  if (arguments.inputs.others.empty())
    return ReadInputArguments(arguments.inputs.files, signature.info().inputs, sizes);
  std::string note;
  NamedTensors inputs = ReadCallInputs(ToSources(arguments.inputs, ""), signature, sizes, {}, &note);
  PrintNote(note);
  return inputs;
}

void Run(const RunArguments& arguments) {
  NamedSizes dims;
  for (const std::string& text : arguments.dims) ParseSizes("--dim", text, dims);
  const NamedShapes shapes = ParseShapes(arguments.shapes);
  OpenedModel opened(arguments.model, arguments.cache_folder);
  const ModelSignature signature = FindSignature(opened.model(), arguments.signature);
  SymbolSizes sizes(signature);
  sizes.Set(dims, "--dim");
  sizes.SetShapes(shapes, signature.info().inputs);
  CommandFiles used;
  used.Reads("the model", arguments.model);
  used.ReadsInputs({arguments.inputs.files, arguments.inputs.others, {}}, signature.info().inputs);
  if (!arguments.output.empty()) {
    used.WritesInto("-o", arguments.output, NpyFilesOf(arguments.output, signature.info().outputs));
    PrepareOutputFolder(arguments.output);
  }
  const NamedTensors inputs = ReadInputs(arguments, signature, sizes);
  if (!arguments.dump_input.empty()) DumpInputs(arguments.dump_input, signature.info().inputs, inputs, used);
  const std::unique_ptr<Session> session =
      CreateSession(opened.model(), ToSessionOptions(arguments, signature));
  SetInputs(*session, inputs);
  const uint64_t begin = platform::NowNanoseconds();
  {
    Progress progress(1);
    progress.Step("run");
    Must([&] { return session->Run(); });
  }
  const auto first_run_ns = static_cast<double>(platform::NowNanoseconds() - begin);
  const NamedTensors outputs = OutputsInPlace(*session);
  if (!arguments.output.empty()) WriteTensors(arguments.output, outputs);
  std::map<std::string, std::string> files;
  if (!arguments.output.empty()) files = FilesOf(arguments.output, outputs);
  std::vector<OutputSummary> summaries;
  for (const PortInfo& port : signature.info().outputs) {
    const std::string file = files.empty() ? "" : files.at(port.name) + ".npy";
    summaries.push_back(Summarise(port, outputs.at(port.name), arguments.top, file));
  }
  const bool scored = std::any_of(summaries.begin(), summaries.end(),
                                  [](const OutputSummary& summary) { return summary.rows > 0; });
  if (arguments.top.value_or(0) > 0 && !scored)
    PrintNote("--top: no output is of rows of scores, [rows, classes]");
  const std::string backend = BackendText(arguments.backend, session->target());
  if (!arguments.json) {
    for (const OutputSummary& summary : summaries) Print("{}", OutputText(summary));
    Print("first run: {} ({}, {})\n", Duration(first_run_ns), backend,
          Counted(static_cast<uint64_t>(session->threads()), "thread"));
    return;
  }
  Json json = JsonDocument("run", {{"model", arguments.model},
                                   {"signature", signature.name()},
                                   {"backend", backend},
                                   {"threads", session->threads()},
                                   {"sizes", SizesJson(signature, SizesOf(signature, inputs))},
                                   {"first_run_ns", first_run_ns},
                                   {"outputs", Json::array()}});
  for (const OutputSummary& summary : summaries) json["outputs"].push_back(OutputJson(summary));
  PrintJson(json);
}

}  // namespace

void AddRun(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("run", "Run a .skiff model on files and print its outputs");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("model", arguments->model, "The model")->required()->type_name("MODEL.skiff");
  AddInputOptions(*command, arguments->inputs, "default: none, each input needs an --input");
  AddSizesOptions(*command, arguments->dims, arguments->shapes);
  AddOutputOption(*command, arguments->output, "the outputs");
  command
      ->add_option(
          "--dump-input", arguments->dump_input,
          "Folder for what the model gets: NAME.npy of each input, and NAME.png where that is a picture; "
          "made where it is missing")
      ->type_name("DIR");
  command
      ->add_option(
          "--top", arguments->top,
          "How many of the best classes to print: their labels, or their numbers where the model has "
          "no labels (default 5 where it has labels, else none)")
      ->type_name("K")
      ->check(WholeBetween(0, 1000));
  AddSessionOptions(*command, *arguments);
  AddJsonOption(*command, arguments->json);
  command->footer(kRunFooter);
  command->callback([arguments] { Run(*arguments); });
}

}  // namespace skiff::cli
