#include "cli/session_options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <set>

#include "cli/custom_options.h"
#include "cli/number_checks.h"
#include "cli/print.h"
#include "delegates/xnnpack/cpu.h"

namespace skiff::cli {

CLI::Validator BackendCheck() {
  return CLI::IsMember(std::set<std::string>(std::begin(kBackendNames), std::end(kBackendNames)));
}

void AddSizesOptions(CLI::App& command, std::vector<std::string>& dims, std::vector<std::string>& shapes) {
  command.add_option("--dim", dims, "Size of an open dimension in this call; repeatable")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--shape", shapes,
          "Shape of an input in this call, in place of --dim for each of its open dimensions; repeatable")
      ->type_name("NAME=AxBx...")
      ->allow_extra_args(false);
}

void AddInputOptions(CLI::App& command, InputArguments& inputs, const std::string& fallback) {
  command
      .add_option(
          "-i,--input", inputs.files,
          "Value of an input: .npy, .npz, .pb, .bin, .jpg or .png; repeatable. A model with one input "
          "needs no NAME=, nor does an .npz, of which each array is the input of its name")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--inputs", inputs.others,
          fmt::format("Where the other inputs come from: a folder, or random values ({}); 'skiff parity "
                      "--help' says more",
                      fallback))
      ->type_name("DIR|random:SEED[:LOW..HIGH]");
  command
      .add_option("--input-range", inputs.ranges,
                  "What the random elements of one input are drawn from, for inputs whose values mean "
                  "something, such "
                  "as a mask of 0 and 1: integers and booleans from LOW to HIGH, both included, reals from "
                  "[LOW, HIGH); repeatable (default: integers below 8, or below the extent that they index)")
      ->type_name("NAME=LOW..HIGH")
      ->allow_extra_args(false);
}

InputSources ToSources(const InputArguments& inputs, const std::string& fallback) {
  return {inputs.files, inputs.others.empty() ? fallback : inputs.others, ParseInputRanges(inputs.ranges)};
}

void AddOutputOption(CLI::App& command, std::string& output, const std::string& what) {
  command
      .add_option("-o,--output", output,
                  fmt::format("Folder for {}, one NAME.npy each; made where it is missing", what))
      ->type_name("DIR");
}

void AddJsonOption(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON (docs/json.md); times in nanoseconds, sizes in bytes");
}

void AddCacheOption(CLI::App& command, std::string& cache_folder) {
  command
      .add_option("--cache", cache_folder,
                  "A folder of your own in which packed weights are kept, so that the next start maps them "
                  "(default: none)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory.description(""));
}

void AddThreadsOption(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads of the run (default: the usable cores, at most 4)")
      ->type_name("N")
      ->check(WholeBetween(1, kMaxThreads));
}

void AddCpuOption(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--cpu",
          [](const std::string& tier) { setenv(xnnpack::kCpuVariable, tier.c_str(), /*overwrite=*/1); },
          "Use no kernels above this tier of CPUs: sse, avx, avx2, avxvnni, avx512 or avx512vnni; to test "
          "and measure what other machines run (default: the variable SKIFF_CPU, else all that this CPU has; "
          "x86-64 only)")
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
  AddCacheOption(command, arguments.cache_folder);
  command.add_flag("--exact", arguments.exact,
                   "Convolutions and products add the products of their definition: not the ways of Winograd "
                   "and Strassen, which are faster, need more memory and round more");
  AddCpuOption(command);
}

Json SizesJson(const ModelSignature& signature, const std::vector<int64_t>& sizes) {
  Json json = Json::object();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (signature.Has(i)) json[signature.model().symbols()[i].name] = sizes[i];
  }
  return json;
}

void PrintNote(const std::string& note) {
  if (!note.empty()) Print(stderr, "note: {}\n", note);
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
