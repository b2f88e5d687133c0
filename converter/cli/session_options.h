/// What run, bench and parity have in common: --input, --inputs, --input-range, --dim, --shape, --output,
/// --signature, --backend, --threads, --cache, --cpu, --exact and --json.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "cli/input_files.h"
#include "cli/json.h"
#include "run/model_signature.h"
#include "run/opened_model.h"

namespace skiff::cli {

struct SessionArguments {
  std::string signature;
  std::string backend = "xnnpack";
  int threads = 0;
  std::string cache_folder;
  bool exact = false;
};

/// The names of backends.
CLI::Validator BackendCheck();
/// Where the inputs of a call come from: see InputSources.
struct InputArguments {
  std::vector<std::string> files;
  std::string others;
  std::vector<std::string> ranges;
};

/// --input, --inputs and --input-range; `fallback` says what is without --inputs.
void AddInputOptions(CLI::App& command, InputArguments& inputs, const std::string& fallback);
/// `fallback`: what --inputs is where it was not given. Throws Error for malformed ranges.
InputSources ToSources(const InputArguments& inputs, const std::string& fallback);
/// --dim and --shape: sizes of open dimensions, read by ParseSizes() and ParseShapes().
void AddSizesOptions(CLI::App& command, std::vector<std::string>& dims, std::vector<std::string>& shapes);
/// --output: a folder for `what`.
void AddOutputOption(CLI::App& command, std::string& output, const std::string& what);
/// --json.
void AddJsonOption(CLI::App& command, bool& json);
/// --cache.
void AddCacheOption(CLI::App& command, std::string& cache_folder);
void AddThreadsOption(CLI::App& command, int& threads);
/// --cpu: in force as soon as it has been read, so that no Session is there yet.
void AddCpuOption(CLI::App& command);
void AddSessionOptions(CLI::App& command, SessionArguments& arguments);
/// The name of the signature is the Model's.
SessionOptions ToSessionOptions(const SessionArguments& arguments, const ModelSignature& signature);
/// The sizes of a signature's open dimensions, by name.
Json SizesJson(const ModelSignature& signature, const std::vector<int64_t>& sizes);
/// "note: ..." on standard error; nothing for "".
void PrintNote(const std::string& note);
/// The backend's name, and that the cpu plan took its place where it did.
std::string BackendText(const std::string& backend, Target target);

}  // namespace skiff::cli
