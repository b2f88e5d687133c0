/// Runs a program as a user would, and keeps what it says.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace skiff::testing {

struct RunOptions {
  long file_size_limit = -1;  ///< Bytes that any file may have (as a full disk); -1: none.
  /// Columns of a terminal that both streams are, as people have it; 0: they are pipes.
  int terminal = 0;
  std::map<std::string, std::string> environment = {};  ///< Set beside the test's own; "" unsets.
  std::string standard_output;                          ///< A path instead of a captured stream; "" captures.
};

struct RunResult {
  int exit_code = -1;  ///< 128 + the signal's number when a signal ended it.
  std::string output;
  std::string error;
  int64_t peak_bytes =
      0;  ///< Resident at once; at least what the test itself has when it starts the program.
};

RunResult RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                     const RunOptions& options = {});
/// The skiff executable of this build.
RunResult RunSkiff(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace skiff::testing
