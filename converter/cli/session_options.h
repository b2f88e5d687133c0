/// --backend and --threads.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "cli/opened_model.h"

namespace skiff::cli {

struct SessionArguments {
  std::string backend = "xnnpack";
  int threads = 0;
};

void AddThreadsOption(CLI::App& command, int& threads);
void AddSessionOptions(CLI::App& command, SessionArguments& arguments);
SessionOptions ToSessionOptions(const SessionArguments& arguments);

}  // namespace skiff::cli
