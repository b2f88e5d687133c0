/// The subcommands. Each adds itself to the app; its callback runs while the command line is parsed, sets the
/// exit code where it is not 0, and throws Error for bad input.
#pragma once

#include <CLI/CLI.hpp>

namespace skiff::cli {

void AddConvert(CLI::App& app, int& exit_code);
void AddQuantize(CLI::App& app, int& exit_code);
void AddRun(CLI::App& app, int& exit_code);
void AddBench(CLI::App& app, int& exit_code);
void AddParity(CLI::App& app, int& exit_code);
void AddBuckets(CLI::App& app, int& exit_code);
void AddInspect(CLI::App& app, int& exit_code);
void AddReport(CLI::App& app, int& exit_code);
void AddSizeList(CLI::App& app, int& exit_code);
/// In builds with signatures (SKIFF_SIGNATURES).
void AddSign(CLI::App& app, int& exit_code);
void AddVerify(CLI::App& app, int& exit_code);

}  // namespace skiff::cli
