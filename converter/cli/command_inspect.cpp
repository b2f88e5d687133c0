// skiff inspect
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/convert_options.h"
#include "cli/dot.h"
#include "cli/inspect.h"
#include "cli/print.h"
#include "format/container.h"
#include "graph/error.h"
#include "import/import_model.h"
#include "passes/passes.h"
#include "run/opened_model.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

constexpr const char* kInspectFooter =
    "Sizes are in bytes. A source that cannot be converted as it is shows what its file says, and why not; "
    "the exit code is 0.\n"
    "Examples:\n"
    "  skiff inspect mobilenet.skiff --nodes\n"
    "  skiff inspect silero_vad.onnx --set sr=16000";

struct InspectArguments {
  std::string model;
  ConvertArguments source;  ///< Only what AddSourceOptions() adds.
  bool json = false;
  bool nodes = false;
  bool dot = false;
};

/// By the file's mark; a damaged .skiff file still gets that reader's message.
bool IsSkiff(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char mark[sizeof(format::kMagic)] = {};
  file.read(mark, sizeof(mark));
  return std::memcmp(mark, format::kMagic, sizeof(mark)) == 0 || path.ends_with(".skiff");
}

/// What inference finds out of inner tensors and outputs; where it cannot, they stay as they are.
void InferWhatIsKnown(Graph& graph) {
  Graph typed = graph;
  try {
    InferShapes(typed);
  } catch (const Error&) {
    return;
  }
  graph = std::move(typed);
}

void PrintNotes(const std::string& path, const std::string& of, const Graph& graph) {
  for (const std::string& sentence : graph.left_out) Print(stderr, "note: {}: {}{}\n", path, of, sentence);
  for (const StatePair& pair : LikelyStates(graph)) Print(stderr, "hint: {}{}\n", of, StateHint(pair));
}

/// What the options say of each signature's inputs is for those that have them.
std::vector<NamedGraph> ImportAll(SourceModel& source, const ConvertOptions& options) {
  std::vector<NamedGraph> signatures = ImportSignatures(source, options);
  // Here a file's only signature has the name that it has there.
  if (options.signatures.empty() && signatures.size() == 1) signatures[0].name = source.signatures()[0].name;
  return signatures;
}

/// A net that cannot be imported as it is still says much, and what is missing may be an option.
void InspectOutline(const InspectArguments& arguments, const SourceOutline& outline, std::string problem) {
  const std::string& path = arguments.model;
  if (problem.starts_with(path + ": ")) problem.erase(0, path.size() + 2);
  if (arguments.json) {
    PrintJson(JsonDocument("inspect", OutlineJson(path, outline, problem)));
  } else {
    Print("{}", OutlineText(path, outline, problem));
  }
  for (const std::string& hint : BranchHints(outline, ToFixedInputs(arguments.source), false))
    Print(stderr, "hint: {}\n", hint);
}

void InspectSource(const InspectArguments& arguments) {
  const std::string& path = arguments.model;
  const ConvertOptions options = ToConvertOptions(arguments.source);
  const std::unique_ptr<SourceModel> source = OpenSource(path);
  const std::unique_ptr<SourceOutline> outline = source->Outline();
  std::vector<NamedGraph> signatures;
  try {
    signatures = ImportAll(*source, options);
  } catch (const Error& error) {
    if (outline == nullptr || error.code() != StatusCode::kUnsupported) throw;
    return InspectOutline(arguments, *outline, error.what());
  }
  for (NamedGraph& signature : signatures) {
    PrintNotes(path, signatures.size() == 1 ? "" : fmt::format("signature '{}': ", signature.name),
               signature.graph);
    InferWhatIsKnown(signature.graph);
  }
  if (arguments.dot) {
    Print("{}", SourceDot(signatures));
  } else if (arguments.json) {
    PrintJson(JsonDocument("inspect", SourceJson(path, signatures, outline.get())));
  } else {
    Print("{}", SourceText(path, signatures, arguments.nodes, outline.get()));
  }
  if (outline == nullptr) return;
  for (const std::string& hint : BranchHints(*outline, options.fixed_inputs, true))
    Print(stderr, "hint: {}\n", hint);
}

void Inspect(const InspectArguments& arguments) {
  const std::string& path = arguments.model;
  if (!IsSkiff(path)) return InspectSource(arguments);
  const ConvertArguments& source = arguments.source;
  if (!source.fixed_inputs.empty() || !source.shapes.empty() || !source.dims.empty() ||
      !source.signatures.empty())
    throw CLI::ValidationError("--set, --shape, --dim, --signature",
                               "are for sources; a .skiff file has its own");
  OpenedModel opened(path);
  if (arguments.dot) {
    Print("{}", SkiffDot(opened.model()));
  } else if (arguments.json) {
    PrintJson(JsonDocument("inspect", SkiffJson(path, opened.model())));
  } else {
    Print("{}", SkiffText(path, opened.model(), arguments.nodes));
  }
}

}  // namespace

void AddInspect(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("inspect", "Show what is inside of a .skiff, .onnx or .tflite file");
  auto arguments = std::make_shared<InspectArguments>();
  command->add_option("model", arguments->model, "The file")->required()->type_name("MODEL");
  CLI::Option* json = command->add_flag("--json", arguments->json,
                                        "Print JSON (docs/json.md), with all nodes of a .skiff file");
  CLI::Option* nodes =
      command->add_flag("--nodes", arguments->nodes, "List every node with its tensors")->excludes(json);
  command
      ->add_flag(
          "--dot", arguments->dot,
          "Print the graph for Graphviz, of a .skiff file the first plan: ... --dot | dot -Tsvg -o net.svg")
      ->excludes(json)
      ->excludes(nodes);
  AddSourceOptions(*command, arguments->source);
  command->footer(kInspectFooter);
  command->callback([arguments] { Inspect(*arguments); });
}

}  // namespace skiff::cli
