// skiff run
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/parse_sizes.h"
#include "cli/session_options.h"
#include "cli/table.h"
#include "core/platform.h"
#include "emit/write_model.h"
#include "files/image.h"
#include "files/output_path.h"
#include "files/tensor_files.h"
#include "graph/must.h"
#include "run/sizes.h"
#include "skiff/labels.h"

namespace skiff::cli {
namespace {

constexpr const char* kFooter =
    "Pictures (.jpg, .png) are resized and normalised as the model's image settings say; .npy and .pb "
    "carry their\n"
    "own type and shape; .bin holds raw little-endian elements: --dim says the sizes of open dimensions. "
    "Pictures and f32\n"
    "become the integers of a quantised input. Of a quantised output the numbers are printed that its "
    "integers "
    "stand for;\n"
    "its file has the integers.\n"
    "Examples:\n"
    "  skiff run mobilenet.skiff --input image=dog.jpg --top 3 --output results\n"
    "  skiff run bert.skiff --input ids=ids.bin --dim seq=7";

constexpr size_t kFirstValues = 6;

struct Arguments : SessionArguments {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  std::string output;
  std::string dump_input;
  size_t top = 5;
};

std::string ValueText(const TensorData& tensor, double value) {
  const bool real = IsFloat(tensor.dtype()) || tensor.quantization() != nullptr;
  return real ? fmt::format("{:.6g}", value) : fmt::format("{}", value);
}

void PrintOutput(const PortInfo& port, const TensorData& tensor, size_t top) {
  const std::vector<double> values = tensor.ToDoubles();
  fmt::print("output '{}': {} {}{}", port.name, DTypeName(tensor.dtype()), ShapeText(tensor.shape()).c_str(),
             ShortQuantizationText(tensor.quantization().get()));
  if (!values.empty()) {
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    fmt::print(", min {}, max {}, mean {:.6g}", ValueText(tensor, *min), ValueText(tensor, *max), mean);
  }
  const auto broken =
      std::count_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (broken > 0) fmt::print(", {} not finite", broken);
  fmt::print("\n  first values:");
  for (size_t i = 0; i < std::min(values.size(), kFirstValues); ++i)
    fmt::print(" {}", ValueText(tensor, values[i]));
  fmt::print("{}\n", values.size() > kFirstValues ? " ..." : "");
  if (port.labels.size() != values.size() || port.labels.empty()) return;
  std::vector<ClassScore> best(std::min(top, values.size()));
  Must([&] { return BestClasses(port, tensor.view(), {best.data(), best.size()}); });
  for (size_t i = 0; i < best.size(); ++i) {
    fmt::print("  {}. {}  (score {}, class {})\n", i + 1, best[i].label, ValueText(tensor, best[i].score),
               best[i].index);
  }
}

/// The names of files for tensors, without an extension; each another one.
std::map<std::string, std::string> FilesOf(const std::string& folder, const NamedTensors& tensors) {
  std::map<std::string, std::string> files;
  std::set<std::string> taken;
  for (const auto& [name, tensor] : tensors) {
    std::string file = FileNameOf(name);
    for (int i = 2; !taken.insert(file).second; ++i) file = fmt::format("{}_{}", FileNameOf(name), i);
    files[name] = fmt::format("{}/{}", folder, file);
  }
  return files;
}

void WriteTensors(const std::string& folder, const NamedTensors& tensors) {
  for (const auto& [name, file] : FilesOf(folder, tensors)) WriteNpy(file + ".npy", tensors.at(name).view());
}

/// What the model gets, and where that is a picture, how it looks: of a batch NAME_0.png, NAME_1.png, ...
void DumpInputs(const std::string& folder, Span<const PortInfo> ports, const NamedTensors& inputs) {
  WriteTensors(folder, inputs);
  const std::map<std::string, std::string> files = FilesOf(folder, inputs);
  for (const PortInfo& port : ports) {
    if (port.image.width == 0) continue;
    const TensorData& input = inputs.at(port.name);
    // A file may have given other sizes, where they are open.
    const Shape& shape = input.shape();
    if (shape[port.image.nhwc ? 1 : 2] != port.image.height ||
        shape[port.image.nhwc ? 2 : 3] != port.image.width)
      continue;
    for (int64_t i = 0; i < shape[0]; ++i) {
      const std::string number = shape[0] == 1 ? "" : fmt::format("_{}", i);
      WriteFileAtomically(fmt::format("{}{}.png", files.at(port.name), number),
                          EncodePng(PictureOf(input, port, i)));
    }
  }
}

void Run(const Arguments& arguments) {
  NamedSizes dims;
  for (const std::string& text : arguments.dims) ParseSizes("--dim", text, dims);
  OpenedModel opened(arguments.model, arguments.cache_folder);
  const ModelSignature signature = FindSignature(opened.model(), arguments.signature);
  SymbolSizes sizes(signature);
  sizes.Set(dims, "--dim");
  const NamedTensors inputs = ReadInputArguments(arguments.inputs, signature.info().inputs, sizes);
  if (!arguments.output.empty()) PrepareOutputFolder(arguments.output);
  if (!arguments.dump_input.empty()) {
    PrepareOutputFolder(arguments.dump_input);
    DumpInputs(arguments.dump_input, signature.info().inputs, inputs);
  }
  const std::unique_ptr<Session> session =
      CreateSession(opened.model(), ToSessionOptions(arguments, signature));
  SetInputs(*session, inputs);
  const uint64_t begin = platform::NowNanoseconds();
  Must([&] { return session->Run(); });
  const uint64_t end = platform::NowNanoseconds();
  const NamedTensors outputs = Outputs(*session);
  if (!arguments.output.empty()) WriteTensors(arguments.output, outputs);
  for (const PortInfo& port : signature.info().outputs)
    PrintOutput(port, outputs.at(port.name), arguments.top);
  fmt::print("first run: {} ({}, {} thread{})\n", Duration(static_cast<double>(end - begin)),
             BackendText(arguments.backend, session->target()), session->threads(),
             session->threads() == 1 ? "" : "s");
}

}  // namespace

void AddRun(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("run", "Run a .skiff model on files and print its outputs");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("model", arguments->model, "The model")->required()->type_name("MODEL.skiff");
  command
      ->add_option("-i,--input", arguments->inputs,
                   "Value of an input: .npy, .pb, .bin, .jpg or .png; repeatable; a model with one "
                   "input needs no NAME=")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  AddSizesOption(*command, arguments->dims);
  command
      ->add_option("-o,--output", arguments->output,
                   "Folder for the outputs, one NAME.npy each; made where it is missing")
      ->type_name("DIR");
  command
      ->add_option(
          "--dump-input", arguments->dump_input,
          "Folder for what the model gets: NAME.npy of each input, and NAME.png where that is a picture; "
          "made where it is missing")
      ->type_name("DIR");
  command
      ->add_option("--top", arguments->top,
                   "How many of the best classes to print where the model has labels (default 5)")
      ->type_name("K")
      ->check(CLI::Range(size_t{0}, size_t{1000}));
  AddSessionOptions(*command, *arguments);
  command->footer(kFooter);
  command->callback([arguments] { Run(*arguments); });
}

}  // namespace skiff::cli
