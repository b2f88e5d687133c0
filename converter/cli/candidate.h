/// What a candidate of `skiff quantize` is as a file: how large, how fast, and how good to a command.
#pragma once

#include <string>

#include "convert.h"
#include "run/opened_model.h"

namespace skiff::cli {

/// Writes graphs as the chosen one will be written.
class Candidates {
 public:
  /// `output`: where that will be; candidates that commands read lie beside it. `inputs`: of one call.
  Candidates(std::string signature, ConvertOptions options, std::string output, NamedTensors inputs);

  /// Its bytes.
  std::vector<uint8_t> File(const Graph& graph) const;
  /// The median of some runs, here and now.
  double Milliseconds(const Graph& graph, int threads) const;
  /// The last number that the shell command prints, whose {} stands for the candidate. Throws Error where it
  /// fails or prints none.
  double Score(const Graph& graph, const std::string& command) const;

 private:
  std::vector<NamedGraph> Named(const Graph& graph) const;

  std::string signature_;
  ConvertOptions options_;
  std::string output_;
  NamedTensors inputs_;
};

/// Where candidates lie for a command that measures them, beside the file that will be.
std::string CandidateFile(const std::string& output);
/// Throws Error where something is there.
void CheckNoCandidate(const std::string& output);

/// What a candidate is called in a command.
inline constexpr const char* kCandidate = "{}";

}  // namespace skiff::cli
