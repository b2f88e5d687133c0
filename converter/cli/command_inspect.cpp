// skiff inspect
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/custom_options.h"
#include "cli/dot.h"
#include "cli/inspect.h"
#include "format/container.h"
#include "import/import_model.h"
#include "passes/passes.h"
#include "run/opened_model.h"

namespace skiff::cli {
namespace {

constexpr const char* kFooter =
    "Sizes are in bytes. Example:\n"
    "  skiff inspect mobilenet.skiff --nodes";

struct Arguments {
  std::string model;
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

/// Names and labels are bytes of the file's; those that are no text are replaced.
std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<NamedGraph> ImportAll(const std::string& path) {
  const std::unique_ptr<SourceModel> source = OpenSource(path);
  std::vector<NamedGraph> signatures;
  for (size_t i = 0; i < source->signatures().size(); ++i) {
    const std::string& name = source->signatures()[i].name;
    Graph graph = source->Import(i, {});
    const std::string of = source->signatures().size() == 1 ? "" : fmt::format("signature '{}': ", name);
    for (const std::string& sentence : graph.left_out)
      fmt::print(stderr, "note: {}: {}{}\n", path, of, sentence);
    // Types of inner tensors follow from the inputs' where none is open.
    const bool closed =
        std::all_of(graph.caller_inputs().begin(), graph.caller_inputs().end(),
                    [&](const GraphPort& port) { return graph.value(port.value).has_static_shape(); });
    if (closed) InferShapes(graph);
    for (const StatePair& pair : LikelyStates(graph)) fmt::print(stderr, "hint: {}{}\n", of, StateHint(pair));
    signatures.push_back({name, std::move(graph)});
  }
  return signatures;
}

void Inspect(const Arguments& arguments) {
  const std::string& path = arguments.model;
  std::string text;
  if (IsSkiff(path)) {
    OpenedModel opened(path);
    text = arguments.dot    ? SkiffDot(opened.model())
           : arguments.json ? JsonText(SkiffJson(path, opened.model()))
                            : SkiffText(path, opened.model(), arguments.nodes);
  } else {
    const std::vector<NamedGraph> signatures = ImportAll(path);
    text = arguments.dot    ? SourceDot(signatures)
           : arguments.json ? JsonText(SourceJson(path, signatures))
                            : SourceText(path, signatures, arguments.nodes);
  }
  fmt::print("{}", text);
}

}  // namespace

void AddInspect(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("inspect", "Show what is inside of a .skiff, .onnx or .tflite file");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("model", arguments->model, "The file")->required()->type_name("MODEL");
  CLI::Option* json = command->add_flag("--json", arguments->json, "Print JSON, with all nodes");
  CLI::Option* nodes =
      command->add_flag("--nodes", arguments->nodes, "List every node with its tensors")->excludes(json);
  command
      ->add_flag(
          "--dot", arguments->dot,
          "Print the graph for Graphviz, of a .skiff file the first plan: ... --dot | dot -Tsvg -o net.svg")
      ->excludes(json)
      ->excludes(nodes);
  AddCustomOptions(*command);
  command->footer(kFooter);
  command->callback([arguments] { Inspect(*arguments); });
}

}  // namespace skiff::cli
