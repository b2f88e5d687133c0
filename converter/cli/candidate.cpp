#include "cli/candidate.h"

#include <sys/wait.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/print.h"
#include "graph/error.h"
#include "run/bench.h"

namespace skiff::cli {
namespace {

/// A file that is gone when this is.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Replaced(std::string command, const std::string& path) {
  const std::string_view mark = kCandidate;
  for (size_t at = 0; (at = command.find(mark, at)) != std::string::npos; at += path.size())
    command.replace(at, mark.size(), path);
  return command;
}

/// What it prints on standard output.
std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): the user's own command
  if (pipe == nullptr) Throw(StatusCode::kIo, "--score: the command cannot be started: {}", command);
  std::string output;
  std::array<char, 4096> part{};
  while (const size_t count = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), count);
  const int status = pclose(pipe);
  if (status != 0)
    Throw(StatusCode::kInvalidArgument, "--score: the command failed with exit code {}: {}",
          WIFEXITED(status) ? WEXITSTATUS(status) : status, command);
  return output;
}

bool IsOfWord(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

/// Not the "inf" of "inference", nor the 50 of "resnet50".
double LastNumber(const std::string& output, const std::string& command) {
  const char* at = output.c_str();
  const char* const end = at + output.size();
  std::optional<double> last;
  while (at < end) {
    char* behind = nullptr;
    const double number = std::strtod(at, &behind);
    const bool in_word = at > output.c_str() && IsOfWord(at[-1]);
    const bool stands_alone = behind != at && !in_word && (std::isfinite(number) || !IsOfWord(*behind));
    if (stands_alone) last = number;
    at = stands_alone ? behind : at + 1;
  }
  if (last && !std::isfinite(*last))
    Throw(StatusCode::kInvalidArgument, "--score: the command prints {}; expected a finite score of {}: {}",
          *last, kCandidate, command);
  if (!last)
    Throw(StatusCode::kInvalidArgument, "--score: the command prints no number; expected a score of {}: {}",
          kCandidate, command);
  return *last;
}

}  // namespace

std::string CandidateFile(const std::string& output) { return output + ".candidate.skiff"; }

void CheckNoCandidate(const std::string& output) {
  const std::string file = CandidateFile(output);
  std::error_code error;
  if (std::filesystem::exists(file, error))
    Throw(StatusCode::kInvalidArgument,
          "--score: candidates would be written to {}, which is there already and would be lost; move or "
          "remove it, or choose another -o",
          file);
}

Candidates::Candidates(std::string signature, ConvertOptions options, std::string output, NamedTensors inputs)
    : signature_(std::move(signature)),
      options_(std::move(options)),
      output_(std::move(output)),
      inputs_(std::move(inputs)) {
  options_.progress = nullptr;
}

std::vector<NamedGraph> Candidates::Named(const Graph& graph) const {
  std::vector<NamedGraph> named;
  named.push_back({signature_, graph});
  return named;
}

std::vector<uint8_t> Candidates::File(const Graph& graph) const {
  return std::move(ConvertGraphs(Named(graph), options_)->file);
}

double Candidates::Milliseconds(const Graph& graph, int threads) const {
  OpenedModel opened(File(graph));
  BenchOptions options;
  options.session.threads = threads;
  options.runs = 20;
  return Bench(opened.model(), inputs_, options).Quantile(0.5) * 1e-6;
}

double Candidates::Score(const Graph& graph, const std::string& command) const {
  const TemporaryFile file(CandidateFile(output_));
  ConvertGraphsTo(Named(graph), file.path(), options_);
  const std::string filled = Replaced(command, ShellWord(file.path()));
  return LastNumber(OutputOf(filled), filled);
}

}  // namespace skiff::cli
