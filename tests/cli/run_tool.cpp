#include "tests/cli/run_tool.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "tests/cli/temp_folder.h"

namespace skiff::testing {
namespace {

/// In the child: never returns.
[[noreturn]] void Become(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options,
                         const std::string& output, const std::string& error) {
  const int out = open(output.c_str(), O_WRONLY | O_CREAT, 0600);
  const int err = open(error.c_str(), O_WRONLY | O_CREAT, 0600);
  if (out < 0 || err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
  if (options.file_size_limit >= 0) {
    const rlimit limit{static_cast<rlim_t>(options.file_size_limit), static_cast<rlim_t>(options.file_size_limit)};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
  }
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

RunResult RunProgram(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options) {
  const TempFolder folder;
  const std::string output = options.standard_output.empty() ? folder / "stdout" : options.standard_output;
  const std::string error = folder / "stderr";
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) Become(program, arguments, options, output, error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  RunResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (options.standard_output.empty()) result.output = ReadWhole(output);
  result.error = ReadWhole(error);
  return result;
}

RunResult RunSkiff(const std::vector<std::string>& arguments, const RunOptions& options) { return RunProgram(SKIFF_TOOL, arguments, options); }

}  // namespace skiff::testing
