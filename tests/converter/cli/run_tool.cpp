#include "tests/converter/cli/run_tool.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

namespace skiff::testing {
namespace {

/// A stream of the child's. Pipes, because a limit on file sizes would cut captured files as well.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  }
  ~Pipe() { close(ends_[0]); }

  bool Become(int stream) const { return dup2(ends_[1], stream) >= 0; }
  /// In the parent, after the fork: everything until the child closes its end.
  std::string Read() const {
    close(ends_[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(ends_[0], buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<size_t>(size));
    return text;
  }

 private:
  int ends_[2] = {};
};

/// A terminal of the system's own kind: what is written to `slave` comes out of `master`, with "\r\n" for
/// line ends.
class Terminal {
 public:
  explicit Terminal(int columns) : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    const winsize size{50, static_cast<unsigned short>(columns), 0, 0};
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0 ||
        ioctl(master_, TIOCSWINSZ, &size) != 0)
      throw std::runtime_error("cannot make a terminal");
    slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~Terminal() { close(master_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool Become() const { return dup2(slave_, STDOUT_FILENO) >= 0 && dup2(slave_, STDERR_FILENO) >= 0; }
  std::string Read() const {
    close(slave_);
    std::string text;
    char buffer[4096];
    // Where nobody has it open any more, reading fails.
    for (ssize_t size = 0; (size = read(master_, buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<size_t>(size));
    return text;
  }

 private:
  int master_;
  int slave_ = -1;
};

/// In the child: never returns.
[[noreturn]] void Become(const std::string& program, const std::vector<std::string>& arguments,
                         const RunOptions& options, const Pipe& output, const Pipe& error,
                         const Terminal* terminal) {
  bool ready = terminal == nullptr ? error.Become(STDERR_FILENO) : terminal->Become();
  for (const auto& [name, value] : options.environment) {
    if (value.empty()) unsetenv(name.c_str());
    if (!value.empty()) setenv(name.c_str(), value.c_str(), 1);
  }
  if (terminal != nullptr) {
    // It is both streams.
  } else if (options.standard_output.empty()) {
    ready = ready && output.Become(STDOUT_FILENO);
  } else {
    ready = ready && dup2(open(options.standard_output.c_str(), O_WRONLY), STDOUT_FILENO) >= 0;
  }
  if (options.file_size_limit >= 0) {
    const rlimit limit{static_cast<rlim_t>(options.file_size_limit),
                       static_cast<rlim_t>(options.file_size_limit)};
    ready = ready && setrlimit(RLIMIT_FSIZE, &limit) == 0;
  }
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (ready) execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

RunResult RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                     const RunOptions& options) {
  const Pipe output;
  const Pipe error;
  const auto terminal = options.terminal > 0 ? std::make_unique<Terminal>(options.terminal) : nullptr;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) Become(program, arguments, options, output, error, terminal.get());
  RunResult result;
  std::thread reader([&] { result.error = error.Read(); });
  result.output = output.Read();
  if (terminal) result.output += terminal->Read();
  reader.join();
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
  }
  result.peak_bytes = int64_t{usage.ru_maxrss} * 1024;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

RunResult RunSkiff(const std::vector<std::string>& arguments, const RunOptions& options) {
  return RunProgram(SKIFF_TOOL, arguments, options);
}

}  // namespace skiff::testing
