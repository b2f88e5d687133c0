#include "cli/session_options.h"

#include <cstdlib>
#include <iterator>
#include <set>

#include "cli/custom_options.h"
#include "delegates/xnnpack/cpu.h"

namespace skiff::cli {

CLI::Validator BackendCheck() {
  return CLI::IsMember(std::set<std::string>(std::begin(kBackendNames), std::end(kBackendNames)));
}

void AddSizesOption(CLI::App& command, std::vector<std::string>& dims) {
  command.add_option("--dim", dims, "Size of an open dimension in this call; repeatable")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
}

void AddInputRangeOption(CLI::App& command, std::vector<std::string>& ranges) {
  command
      .add_option("--input-range", ranges,
                  "What the random elements of one input are drawn from, for inputs whose values mean "
                  "something, such "
                  "as a mask of 0 and 1: integers and booleans from LOW to HIGH, both included, reals from "
                  "[LOW, HIGH); repeatable (default: integers below 8, or below the extent that they index)")
      ->type_name("NAME=LOW..HIGH")
      ->allow_extra_args(false);
}

void AddThreadsOption(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads of the run (default: the usable cores, at most 4)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
}

void AddCpuOption(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--cpu",
          [](const std::string& tier) { setenv(xnnpack::kCpuVariable, tier.c_str(), /*overwrite=*/1); },
          "Use no kernels above this tier of CPUs: sse, avx, avx2, avx512 or avx512vnni; to test and measure "
          "what other machines run (default: the variable SKIFF_CPU, else all that this CPU has; x86-64 "
          "only)")
      ->type_name("TIER");
}

void AddSessionOptions(CLI::App& command, SessionArguments& arguments) {
  AddCustomLibraryOption(command);
  command.add_option("--signature", arguments.signature, "The entry point (default: the first of the file)")
      ->type_name("NAME");
  command
      .add_option("--backend", arguments.backend,
                  "xnnpack (default): each node where the converter put it; vulkan: the same of the plan for "
                  "the GPU, which 'skiff convert --target vulkan' makes; reference: every node by its "
                  "reference kernel, slow")
      ->type_name("NAME")
      ->check(BackendCheck());
  AddThreadsOption(command, arguments.threads);
  command
      .add_option("--cache", arguments.cache_folder,
                  "A folder of your own in which packed weights are kept, so that the next start maps them "
                  "(default: none)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--exact", arguments.exact,
                   "Convolutions add the products of their definition: no Winograd, which is faster, needs "
                   "more memory and rounds more");
  AddCpuOption(command);
}

std::string BackendText(const std::string& backend, Target target) {
  return BackendFromName(backend).target == target ? backend : backend + " fell back to xnnpack";
}

SessionOptions ToSessionOptions(const SessionArguments& arguments, const ModelSignature& signature) {
  SessionOptions options;
  options.signature = signature.name();
  const RunsOn runs_on = BackendFromName(arguments.backend);
  options.backend = runs_on.backend;
  options.target = runs_on.target;
  options.threads = arguments.threads;
  options.exact = arguments.exact;
  return options;
}

}  // namespace skiff::cli
