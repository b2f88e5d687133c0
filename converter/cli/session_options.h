/// --signature, --backend, --threads, --cache, --cpu, --exact, --dim and --input-range.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

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
/// --dim: sizes of open dimensions, read by ParseSizes().
void AddSizesOption(CLI::App& command, std::vector<std::string>& dims);
/// --input-range: read by ParseInputRanges().
void AddInputRangeOption(CLI::App& command, std::vector<std::string>& ranges);
void AddThreadsOption(CLI::App& command, int& threads);
/// --cpu: in force as soon as it has been read, so that no Session is there yet.
void AddCpuOption(CLI::App& command);
void AddSessionOptions(CLI::App& command, SessionArguments& arguments);
/// The name of the signature is the Model's.
SessionOptions ToSessionOptions(const SessionArguments& arguments, const ModelSignature& signature);
/// The backend's name, and that the cpu plan took its place where it did.
std::string BackendText(const std::string& backend, Target target);

}  // namespace skiff::cli
