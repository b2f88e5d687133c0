// skiff size-list
#include <memory>

#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/custom_options.h"
#include "cli/print.h"
#include "cli/size_list.h"
#include "emit/write_file.h"
#include "run/opened_model.h"

namespace skiff::cli {
namespace {

constexpr const char* kSizeListFooter =
    "A runtime built with the list has only these operators, and of the features (open shapes, quantised "
    "tensors, variables, ...) only those of these models; a model that needs another one is refused with its "
    "name when it is opened, or when its session is made. Reference kernels are listed for nodes that run on "
    "them: those that the plans give to 'reference', shape programs, and every node of a plan for a range of "
    "shapes, because a delegate may refuse a shape. A node of an exact plan that only some device's CPU or "
    "GPU refuses needs --fallbacks.\n"
    "Example:\n"
    "  skiff size-list detect.skiff classify.skiff -o operators.cmake\n"
    "  cmake --preset minimal -DSKIFF_OPERATORS=$PWD/operators.cmake && cmake --build --preset minimal";

struct SizeListArguments {
  std::vector<std::string> models;
  std::string output;
  bool fallbacks = false;
};

void List(const SizeListArguments& arguments) {
  CommandFiles files;
  for (const std::string& path : arguments.models) files.Reads("the model", path);
  const std::string output = files.Writes("-o", arguments.output);
  SizeList list;
  std::vector<std::string> sources;
  for (const std::string& path : arguments.models) {
    OpenedModel opened(path);
    AddModel(opened.model(), arguments.fallbacks, &list);
    sources.push_back(OneLine(path.substr(path.find_last_of('/') + 1)));
  }
  const std::string text = SizeListText(list, sources);
  if (output.empty()) {
    Print("{}", text);
    return;
  }
  WriteFileAtomically(output, {text.begin(), text.end()});
}

}  // namespace

void AddSizeList(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand(
      "size-list", "List the operators and features of models, for a build with no others");
  auto arguments = std::make_shared<SizeListArguments>();
  AddCustomLibraryOption(*command);
  command->add_option("models", arguments->models, "The files")->required()->type_name("MODEL");
  command->add_option("-o,--output", arguments->output, "Where the list goes (default: standard output)")
      ->type_name("FILE");
  command->add_flag("--fallbacks", arguments->fallbacks, "List the reference kernels of all nodes, too");
  command->footer(kSizeListFooter);
  command->callback([arguments] { List(*arguments); });
}

}  // namespace skiff::cli
