/// The command-line tool: parses arguments, runs one subcommand, turns every failure into one message and an
/// exit code.
#pragma once

namespace skiff::cli {

/// Exit codes are part of the tool's contract: scripts and CI rely on them.
enum ExitCode : int {
  kDone = 0,
  kBadInput = 1,      ///< A model, tensor or file is bad, or the machine refused (disk full, out of memory).
  kUsage = 2,         ///< The command line itself is wrong.
  kParityFailed = 3,  ///< Everything ran, and the numbers differ by more than the tolerance.
  kBeyondBudget = 4,  ///< A quantised model does not keep --max-error, --max-bytes or --max-ms.
};

int RunTool(int argc, char** argv);

}  // namespace skiff::cli
